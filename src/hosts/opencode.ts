import { version } from "../version.ts";
import { ownCommands, ownTools } from "./tool-event.ts";

/**
 * A plugin for opencode: after each tool call, `command` shortens a large output; after any error, the output stays
 * as it is. Sources: https://opencode.ai/docs/plugins (`tool.execute.after`; the output is changed in place) and
 * opencode's `tool/truncate.ts` and `tool/shell.ts` (`metadata.outputPath`).
 */
export function opencodePlugin(how: {
	readonly command: readonly string[];
	readonly mostChars: number;
	readonly locale?: string | undefined;
}): string {
	const { command, mostChars, locale } = how;
	const parameters = ["hook", "shorten", "--host", "opencode", "--max-chars", String(mostChars)];
	if (locale !== undefined) parameters.push("--locale", locale);
	return `// Shortens large tool outputs. Written by palimpsest ${version}; delete this file to undo it.
import { spawn } from "node:child_process";

const command = ${JSON.stringify([...command, ...parameters])};
const mostChars = ${mostChars};
const timeoutMs = 10_000;
// Their outputs are short, ask for exact lines, or come from palimpsest itself.
const leftAlone = /^(?:read|edit|write|task|skill|todo\\w*)$/;
const ownTools = ${ownTools};
const ownCommands =
	${ownCommands};

// opencode itself cuts an output over 50 kB, and names the file that holds the whole.
function shorten(text, { cwd, savedIn }) {
	return new Promise((resolve) => {
		const parameters = typeof savedIn === "string" ? ["--saved-in=" + savedIn] : [];
		const child = spawn(command[0], [...command.slice(1), ...parameters], {
			cwd,
			stdio: ["pipe", "pipe", "ignore"],
			timeout: timeoutMs,
		});
		const pieces = [];
		child.stdout.on("data", (piece) => pieces.push(piece));
		child.stdin.on("error", () => {});
		child.on("error", () => resolve(text));
		child.on("close", (code) => {
			const shorter = Buffer.concat(pieces).toString("utf8");
			resolve(code === 0 && shorter !== "" && shorter.length < text.length ? shorter : text);
		});
		child.stdin.end(text);
	});
}

export const Palimpsest = async ({ directory: cwd } = {}) => ({
	"tool.execute.after": async (input, output) => {
		try {
			if (leftAlone.test(input.tool) || ownTools.test(input.tool)) return;
			if (ownCommands.test(String(input.args?.command ?? ""))) return;
			if (typeof output.output === "string" && output.output.length > mostChars) {
				const whole = output.output;
				output.output = await shorten(whole, { cwd, savedIn: output.metadata?.outputPath });
				// opencode shows this copy to the user.
				if (output.metadata?.output === whole) output.metadata.output = output.output;
			}
			for (const block of Array.isArray(output.content) ? output.content : []) {
				if (block?.type === "text" && block.text.length > mostChars) block.text = await shorten(block.text, { cwd });
			}
		} catch {
			// A hook never fails its host.
		}
	},
});
`;
}
