from split_devices import budgets, context, contexts  # noqa: F401 - fixtures
