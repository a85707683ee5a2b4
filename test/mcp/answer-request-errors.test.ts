import { expect, test } from "vitest";
import { zodWords } from "../support/zod-words.ts";
import { newerRequest, send, start } from "./http/harness.ts";

// The requests of the era with handshakes are in server-own-words.test.ts.
test.each([
	["tools/call", {}, /params\.name: expected a text, got nothing/],
	["tools/call", { name: 5 }, /params\.name: expected a text, got 5/],
	["tools/call", { name: "mask_conversation", arguments: "{}" }, /arguments: expected an object, got a text/],
	["prompts/get", { name: "compact", arguments: { keep: 5 } }, /arguments\.keep: expected a text, got 5/],
	["prompts/get", { name: "compact", arguments: { keep: "k".repeat(5_000) } }, /keep: expected a text of at most 4000/],
	["resources/list", { cursor: 5 }, /params\.cursor: expected a text, got 5/],
])("in revision 2026-07-28 a %s that cannot be read is answered in our words: %j", async (method, params, says) => {
	const { url } = await start();
	const { error } = JSON.parse((await send(`${url}/mcp`, newerRequest(method, params))).text);
	expect(error).toMatchObject({ code: -32_602, message: expect.stringMatching(says) });
	expect(error.message).not.toMatch(zodWords);
});
