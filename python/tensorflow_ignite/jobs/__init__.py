"""Jobs: the client that submits and watches them, their code, their history and their output."""
