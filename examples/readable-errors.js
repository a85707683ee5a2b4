/** One line for an error that ends an example, such as a model that does not answer, in place of the stack of an SDK. */
process.on("uncaughtException", (error) => {
	const said = new Set();
	for (let at = error; at; at = at.lastError ?? at.cause ?? at.errors?.[0]) {
		for (const words of [at.message, at.code]) if (words) said.add(words.replace(/\.$/, ""));
	}
	const address = process.env.OPENAI_BASE_URL ?? process.env.ANTHROPIC_BASE_URL;
	const where = address === undefined ? "" : ` (the model is asked at ${address})`;
	process.stderr.write(`The example stopped: ${[...said].join(": ")}${where}\n`);
	process.exit(1);
});
