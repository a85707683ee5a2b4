/** In the place of a real tool: twelve of its answers are more than what a window of 32 000 tokens leaves for them. */
export function readFile({ path }) {
	const line = (number) => `${number}: export const setting${number} = "${path}#${number * 7}";`;
	return Array.from({ length: 130 }, (_, index) => line(index + 1)).join("\n");
}

export const description = "Reads a file.";
export const parameters = {
	type: "object",
	properties: { path: { type: "string" } },
	required: ["path"],
	additionalProperties: false,
};
