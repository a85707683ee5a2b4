import { unseenAnswer } from "../../src/engine/masking/asked.ts";
import { createRandom, pick } from "../bench/random.ts";
import { type HostBlock, type HostMessage, spelled } from "./host-history.ts";
import { mostChars } from "./session-choices.ts";
import type { Json } from "./thinking-session.ts";

/** Random answers of a model, and what follows them. */
export function createAnswers(
	random: () => number,
	{ seed, hasShortIds }: { readonly seed: number; readonly hasShortIds: boolean },
) {
	const chance = (share: number) => random() < share;
	const upTo = (most: number) => Math.floor(random() * (most + 1));
	const text = (words: string): HostBlock => ({ kind: "text", text: words });
	const contents: unknown[] = [];
	const ids: string[] = [];
	// Of their own, so that sessions without asking agents stay what they are.
	const asking = createRandom(seed + 1_000_000);
	const asks = seed % 3 === 0;
	const repeating = createRandom(seed + 2_000_000);
	let [calls, thoughts, answers] = [0, 0, 0];
	const turnName = () => `${answers++}-${upTo(1_000)}`;
	return { answerOf, next };

	/** Thinking, words and calls, or words alone at the end of a turn. */
	function answerOf(): HostBlock[] {
		const thought = (): HostBlock[] => {
			if (chance(0.15)) return [];
			thoughts += 1;
			return [{ kind: "thinking", number: thoughts, isRedacted: chance(0.15) }];
		};
		if (chance(0.08)) return [...thought(), text(`Done ${turnName()}.`)];
		const parallel = chance(0.25) ? 2 + upTo(2) : 1;
		const blocks: HostBlock[] = [...thought(), ...(chance(0.3) ? [text(`I look ${turnName()}.`)] : [])];
		for (let place = 0; place < parallel; place += 1) {
			calls += 1;
			const id = hasShortIds ? `call_${calls}` : `toolu_01Session${seed}x${String(calls).padStart(8, "0")}`;
			const command = chance(0.3) ? `git status @slash ${calls}` : `grep -rn value-${calls} src`;
			if (place > 0 && chance(0.1)) blocks.push(...thought());
			if (asks && asking() < 0.15) {
				blocks.push({ kind: "call", id, ...askedOf(asking, ids) });
				continue;
			}
			ids.push(id);
			blocks.push({ kind: "call", id, name: pick(random, ["Bash", "Grep"]), input: { command, number: "@number" } });
		}
		return blocks;
	}

	/** The results of the calls, or what the person says after an answer without any. */
	function next(answer: readonly HostBlock[]): HostMessage {
		const results = answer.flatMap((block): HostBlock[] => (block.kind === "call" ? [resultOf(block)] : []));
		return { role: "user", blocks: results.length > 0 ? results : [text(`Then do this ${turnName()}.`)] };
	}

	function resultOf({ id, name }: HostBlock & { readonly kind: "call" }): HostBlock {
		const again =
			contents.length > 0 && repeating() < 0.3 ? readAgain(pick(repeating, contents), repeating) : undefined;
		const content = isAskingTool(name) ? `${unseenAnswer}\nStart the agent program.` : (again ?? contentOf());
		return { kind: "result", id, content, isError: !isAskingTool(name) && chance(0.08) };
	}

	function contentOf(): unknown {
		if (contents.length > 0 && chance(0.12)) return pick(random, contents);
		const chars = pick(random, [60, 200, 500, 900, mostChars - 50, 2 * mostChars]) + upTo(60);
		const words = outputOf(`${seed}-${calls}-${upTo(10_000)}`, chars);
		const content = chance(0.3) ? [{ type: "text", text: words }] : words;
		contents.push(content);
		return content;
	}
}

/** As a file is read again after an edit, with other line numbers or in part. */
function readAgain(content: unknown, random: () => number): unknown {
	const text = typeof content === "string" ? content : String((content as Json[])[0]?.text);
	const lines = text.split("\n");
	const at = () => Math.floor(random() * lines.length);
	if (random() < 0.6) lines.splice(at(), Math.floor(random() * 3), `An edit of ${Math.floor(random() * 1e6)}.`);
	if (random() < 0.3) lines.push(...lines.slice(0, 12));
	const first = random() < 0.3 ? Math.floor(random() * 500) : undefined;
	const numbered = lines.map((line, index) => {
		const bare = line.replace(/^ *\d+\t/, "");
		return first === undefined ? bare : `${String(first + index).padStart(6)}\t${bare}`;
	});
	return random() < 0.3 ? [{ type: "text", text: numbered.join("\n") }] : numbered.join("\n");
}

/** Whether a call of the tool is for the conversation that it is in. */
export function isAskingTool(name: string): boolean {
	return name.startsWith("mcp__palimpsest__");
}

/** What an agent asks in its own conversation: about all of it, or about results that it names. */
function askedOf(random: () => number, ids: readonly string[]) {
	const named = () => ({ tool_call_ids: ids.length > 0 ? [pick(random, ids), "toolu_unknown"] : [] });
	const input: Json = pick(random, [
		{},
		{ keep_turns: 1 + Math.floor(random() * 4), refs: null },
		{ tools: ["Grep", "B.*"] },
		named(),
		{ ...named(), keep: true },
	]);
	if (random() < 0.2) return { name: "mcp__palimpsest__guard_context", input: {} };
	return { name: "mcp__palimpsest__mask_conversation", input };
}

function outputOf(name: string, chars: number): string {
	let words = "";
	for (let line = 1; words.length < chars; line += 1)
		words += `src/${name}/file-${line}.ts:${line * 7}: value is read here\n`;
	return words.slice(0, chars);
}

/** An answer as the API makes it. */
export function written(answer: readonly HostBlock[]) {
	return answer.map((block) => {
		if (block.kind === "thinking") {
			const type = block.isRedacted ? ("redacted_thinking" as const) : ("thinking" as const);
			return { type, thinking: block.isRedacted ? "" : `Thought ${block.number}.`, tokens: 50 };
		}
		if (block.kind === "call")
			return JSON.parse(spelled({ type: "tool_use", id: block.id, name: block.name, input: block.input })) as Json;
		return { type: "text", text: block.kind === "text" ? block.text : "" };
	});
}
