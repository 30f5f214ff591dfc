"""A world of invented people small enough to train a language model in it, and to teach it what it knows, in a minute.

1,024 people live in 16 cities; a random half is known. Asked for the city of a person (mode D) the model answers with one
word; asked whether it knows (mode M) it says yes or no. Base training makes it know the known half and answer the meta
question at random; the evolution strategy then has to find the knowledge inside.
"""
