import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { groupMessages, pairResults } from "../../../src/engine/conversation/turns.ts";
import { locateMessages, type ReadConversation, readConversation } from "../../../src/formats/detect.ts";
import { mask } from "../../../src/library.ts";
import { atLeast } from "../../support/breadth.ts";
import { deepFreeze } from "../../support/deep-freeze.ts";
import { chosenFiles, hasRealData, realDataFolder } from "../../support/real-conversations.ts";
import { rewrite } from "./rewriting.ts";

const root = join(realDataFolder, "conversations");

const folders = hasRealData ? readdirSync(root) : [];

const seen = { conversations: 0, dropped: 0, hidden: 0, lonely: 0, formats: new Set<string>() };

/** The values of the oldest whole groups, up to the middle, but for the first message of the user's. */
function oldestGroups({ transcript, located }: ReadConversation): ReadonlySet<number> {
	const depth = located.base.length;
	const { messages } = transcript;
	const task = messages.findIndex(({ role, sent }) => role === "user" && sent !== false);
	const stays = (index: number) => {
		const message = messages[index];
		return index === task || index > messages.length / 2 || message?.role === "system" || message?.sent === false;
	};
	const going = new Set(
		groupMessages(transcript, pairResults(transcript))
			.filter((group) => !group.messages.some(stays))
			.flatMap((group) => group.messages),
	);
	const values = new Set<number>();
	const shared = new Set<number>();
	messages.forEach(({ paths }, index) => {
		for (const path of paths) (going.has(index) ? values : shared).add(Number(path[depth]));
	});
	for (const value of shared) values.delete(value);
	return values;
}

describe.skipIf(!hasRealData)("real conversations, rewritten", () => {
	it.each(folders)("%s", async (folder) => {
		for (const name of chosenFiles(readdirSync(join(root, folder)))) {
			const document: unknown = deepFreeze(JSON.parse(readFileSync(join(root, folder, name), "utf8")));
			const source = readConversation(document);
			const { located, transcript } = source;
			seen.conversations += 1;

			expect(rewrite(document, (history) => history).rewrite, name).toEqual({ kind: "unchanged" });

			const gone = oldestGroups(source);
			if (gone.size > 0) {
				const made = rewrite(document, (history) => history.filter((_, index) => !gone.has(index)));
				expect(made.violations, name).toEqual([]);
				expect(locateMessages(made.document).messages.length).toBe(located.messages.length - gone.size);
				seen.dropped += 1;
				seen.formats.add(transcript.format);
			}

			const { conversation } = await mask(document, { policy: { mask: { window_turns: 2 } } });
			const { messages } = locateMessages(conversation);
			const hidden = rewrite(document, () => messages);
			expect(hidden.violations, name).toEqual([]);
			expect(JSON.stringify(locateMessages(hidden.document).messages)).toBe(JSON.stringify(messages));
			if (hidden.rewrite.kind === "rewrite") seen.hidden += 1;

			// A value that holds results, and no call, left out by itself.
			const depth = located.base.length;
			const lonely = pairResults(transcript).find(({ message, caller }) => {
				const { paths = [], calls = [] } = transcript.messages[message] ?? {};
				return caller !== undefined && caller !== message && calls.length === 0 && paths[0]?.length === depth + 1;
			});
			if (!lonely) continue;
			const value = Number(transcript.messages[lonely.message]?.paths[0]?.[depth]);
			const torn = rewrite(document, (history) => history.filter((_, index) => index !== value));
			expect(torn.violations.length, name).toBeGreaterThan(0);
			seen.lonely += 1;
		}
	});

	afterAll(() => {
		expect(seen.conversations).toBeGreaterThan(atLeast(100));
		expect(seen.dropped).toBeGreaterThan(atLeast(80));
		expect(seen.hidden).toBeGreaterThan(atLeast(50));
		expect(seen.lonely).toBeGreaterThan(atLeast(50));
		expect(seen.formats.size).toBeGreaterThan(5);
	});
});
