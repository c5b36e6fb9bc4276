"""The recipe of this exam, with the code that only this recipe needs."""
