import { describe, expect, it } from "vitest";
import { resultText } from "../../../src/engine/conversation/transcript.ts";
import { pairResults, toolTurns } from "../../../src/engine/conversation/turns.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { outputOf } from "../../support/sample-text.ts";
import { calls, results, toolTurn, user } from "../../support/script.ts";
import { type FormatRow, masking, placeholder, toolsOf } from "../format-row.ts";

export function describeCalls(row: FormatRow): void {
	const { format, contents, read, resultsOf, turn, write } = toolsOf(row);
	const standAlone = !row.resultsStandInCalls;
	const commands = row.callsAreCommands === true;
	const pairs = (document: unknown) =>
		pairResults(read(document)).map(({ result, call }) => [resultText(result), call?.name]);

	describe(`${format.title}: calls and results`, () => {
		it.skipIf(commands)("reads parallel calls and their results, in any order, as one turn", () => {
			const document = write(
				calls({ id: "a", name: "ls" }, { id: "b", name: "cat" }),
				results({ id: "b", content: "B" }),
				results({ id: "a", content: "A" }),
			);
			expect(pairs(document).toSorted()).toEqual([
				["A", "ls"],
				["B", "cat"],
			]);
			expect(new Set(pairResults(read(document)).map(({ caller }) => caller)).size).toBe(1);
			expect(toolTurns(read(document))).toHaveLength(1);
		});

		it.skipIf(commands)("keeps or masks the results of parallel calls together", async () => {
			const parallel = [calls({ id: "a", name: "ls" }, { id: "b", name: "cat" })];
			const answers = [results({ id: "a", content: outputOf("a") }), results({ id: "b", content: outputOf("b") })];
			const masked = async (...after: string[]) => {
				const document = write(parallel, answers, ...after.map(turn));
				return (await maskConversation({ conversation: document, policy: masking })).report.masked_tool_results;
			};
			expect([await masked(), await masked("c"), await masked("c", "d")]).toEqual([0, 2, 3]);
		});

		it("reads reused ids by the nearest preceding call", () => {
			const document = write(toolTurn("same", "1", "ls"), user("Well?"), toolTurn("same", "2", "cat"));
			expect(pairs(document)).toEqual([
				["1", commands ? "bash" : "ls"],
				["2", commands ? "bash" : "cat"],
			]);
		});

		it.runIf(standAlone)("an orphan has no call, and stays unchanged", async () => {
			const document = write(
				results({ id: "ghost", content: outputOf("ghost") }),
				...["a", "b"].map(turn),
				results({ id: "other", content: outputOf("other") }),
				turn("c"),
			);
			expect(pairResults(read(document)).filter(({ caller }) => caller === undefined)).toHaveLength(2);
			const { conversation, error } = await maskConversation({ conversation: document, policy: masking });
			expect(error).toBeUndefined();
			expect(contents(conversation)).toEqual([
				outputOf("ghost"),
				expect.stringMatching(placeholder),
				expect.stringMatching(placeholder),
				outputOf("other"),
				outputOf("c"),
			]);
		});

		it.runIf(standAlone && !row.pairsByPosition)("reads results without an id, and calls without id or name", () => {
			const document = write(calls({ name: "ls" }, { id: "b" }), results({ content: "x" }));
			expect(pairs(document)).toEqual([["x", undefined]]);
			expect(read(document).messages[0]?.calls).toEqual([
				{ id: undefined, name: "ls" },
				{ id: "b", name: undefined },
			]);
		});

		it.runIf(standAlone && !row.pairsByPosition)("an id that is empty or not a string counts as missing", () => {
			const document = write(
				calls({ id: "" }, { id: 7 as never }),
				results({ id: "", content: "x" }, { id: null as never, content: "y" }),
			);
			expect(read(document).messages[0]?.calls.map(({ id }) => id)).toEqual([undefined, undefined]);
			expect(resultsOf(document).map(({ callId }) => callId)).toEqual([undefined, undefined]);
		});

		it("unanswered calls change nothing", async () => {
			const document = write(turn("a"), calls({ id: "b", name: "ls" }), user("Stop."), turn("c"));
			const { conversation } = await maskConversation({ conversation: document, policy: masking });
			expect(contents(conversation).filter((content) => content !== undefined)).toEqual([
				expect.stringMatching(placeholder),
				outputOf("c"),
			]);
		});

		it("counts names and arguments of calls", () => {
			const counted = read(write(calls({ id: "a", name: "list_files" }))).messages.flatMap((one) => one.counted);
			const expected = ["list_files", '{"path":"a.txt"}'];
			expect(counted).toEqual(expect.arrayContaining(commands ? ["bash", expected.join(" ")] : expected));
		});
	});
}
