"""What each kind of syntax node means on columns, a module for each topic."""
