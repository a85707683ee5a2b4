/** A session in Anthropic's format, in which each answer thinks, and a person writes now and then. */
export function reasoningSession(
	turns: readonly {
		/** Characters of the reasoning; 0 for none, and less for so many that only the signature holds. */
		readonly thinking: number;
		readonly output: number;
		/** Whether a person writes after the result. */
		readonly asks?: boolean;
	}[],
): unknown[] {
	const thinkingOf = (characters: number, turn: number) =>
		characters > 0
			? { type: "thinking", thinking: `thought ${turn} `.padEnd(characters, "and more of it "), signature: "c2ln" }
			: { type: "thinking", thinking: "", signature: "A".repeat(Math.ceil((4 * (173 - characters)) / 3)) };
	return [
		{ role: "user", content: "Do the task." },
		...turns.flatMap(({ thinking, output, asks = false }, turn) => [
			{
				role: "assistant",
				content: [
					...(thinking === 0 ? [] : [thinkingOf(thinking, turn)]),
					{ type: "tool_use", id: `c${turn}`, name: "read", input: { path: `src/file-${turn}.ts` } },
				],
			},
			{
				role: "user",
				content: [
					{
						type: "tool_result",
						tool_use_id: `c${turn}`,
						content: `output ${turn} `.padEnd(output, "and more of it "),
					},
				],
			},
			...(asks
				? [
						{ role: "assistant", content: "Done." },
						{ role: "user", content: "Go on." },
					]
				: []),
		]),
	];
}
