/** Finds pipelines only: control words (`if`, `for`) and substitutions stay words. Takes linear time. */
export function readShellScript(script: string): Pipeline[] {
	const pipelines: Pipeline[] = [];
	let pipeline: SimpleCommand[] = [];
	let words: string[] = [];
	let redirections: Redirection[] = [];
	let next: Redirection["kind"] | "word" = "word";
	let heredocs: string[] = [];
	/** The number right before a redirection: 2 for the errors. */
	let descriptor = "";
	let position = 0;
	let commands = 0;

	const endCommand = () => {
		if (words.length > 0 || redirections.length > 0) {
			pipeline.push({ words, redirections });
			commands += 1;
		}
		words = [];
		redirections = [];
		next = "word";
	};
	const endPipeline = () => {
		endCommand();
		const [first, ...others] = pipeline;
		if (first) pipelines.push([first, ...others]);
		pipeline = [];
	};

	while (position < script.length && commands < mostCommands) {
		operator.lastIndex = position;
		const found = operator.exec(script)?.groups;
		if (!found) {
			const { text, end } = readWord(script, position);
			position = Math.max(end, position + 1);
			if (/^\d$/.test(text) && /[<>]/.test(script[position] ?? "")) {
				descriptor = text;
				continue;
			}
			if (next === "word") words.push(text);
			else redirections.push({ kind: next, text });
			next = "word";
			continue;
		}
		position = operator.lastIndex;
		if (found.newline) {
			const bodies = heredocs.map((delimiter) => {
				const { body, end } = readHeredoc(script, position, delimiter);
				position = end;
				return { kind: "heredoc", text: body } as const;
			});
			heredocs = [];
			// The command that the heredoc belongs to may have ended already: `cat <<EOF && next`.
			if (words.length > 0 || redirections.length > 0) redirections = redirections.concat(bodies);
			else if (bodies.length > 0) {
				if (pipeline.length === 0) pipeline = [...(pipelines.pop() ?? [])];
				const last = pipeline.pop() ?? { words: [], redirections: [] };
				pipeline.push({ ...last, redirections: [...last.redirections, ...bodies] });
			}
		}
		if (found.newline || found.end) endPipeline();
		else if (found.pipe) endCommand();
		else if (found.read) next = "read";
		else if (found.heredoc) {
			const word = readWord(script, position);
			position = Math.max(word.end, position + 1);
			heredocs.push(word.text);
		} else if (found.write) {
			// `2>&1`: to another descriptor, no file.
			if (script[position] === "&") position = readWord(script, position + 1).end;
			else next = descriptor === "2" ? "write_errors" : "write";
			descriptor = "";
		}
	}
	endPipeline();
	return pipelines;
}

/** White space and comments match without a group. */
const operator =
	/(?<newline>\n)|[ \t\r]+|\\\n|(?<![^\s;&|])#[^\n]*|(?<end>&&|\|\||[;()]|&(?!>))|(?<pipe>\|&?)|(?<heredoc><<(?!<)-? *)|(?<read><<<|<)|(?<write>&?>[>|]?)/y;

export type Pipeline = readonly [SimpleCommand, ...SimpleCommand[]];

export interface SimpleCommand {
	/** Program and arguments, without quotes. Variables and substitutions stay unchanged. */
	readonly words: readonly string[];
	readonly redirections: readonly Redirection[];
}

interface Redirection {
	readonly kind: "write" | "write_errors" | "read" | "heredoc";
	/** The file; of a heredoc, its body. */
	readonly text: string;
}

/** Longer scripts are generated. */
const mostCommands = 2_000;

function readHeredoc(script: string, start: number, delimiter: string): { body: string; end: number } {
	let line = start;
	while (line < script.length) {
		const newline = script.indexOf("\n", line);
		const end = newline === -1 ? script.length : newline;
		if (script.slice(line, end).trim() === delimiter) return { body: script.slice(start, line), end };
		line = end + 1;
	}
	return { body: script.slice(start), end: script.length };
}

function readWord(script: string, start: number): { text: string; end: number } {
	const pieces: string[] = [];
	let position = start;
	while (position < script.length) {
		const character = script[position] as string;
		if (character === "'") {
			const end = script.indexOf("'", position + 1);
			const close = end === -1 ? script.length : end;
			pieces.push(script.slice(position + 1, close));
			position = close + 1;
		} else if (character === '"') {
			let end = position + 1;
			while (end < script.length && script[end] !== '"') end += script[end] === "\\" ? 2 : 1;
			pieces.push(script.slice(position + 1, end).replace(/\\(["\\$`])/g, "$1"));
			position = end + 1;
		} else if (character === "\\") {
			pieces.push(script[position + 1] ?? "");
			position += 2;
		} else if (/[\s;&|<>()]/.test(character)) break;
		else {
			const stop = /['"\\\s;&|<>()]/g;
			stop.lastIndex = position;
			const found = stop.exec(script);
			const end = found ? found.index : script.length;
			pieces.push(script.slice(position, end));
			position = end;
		}
	}
	return { text: pieces.join(""), end: position };
}
