import { describe, expect, it } from "vitest";
import { withoutBodyChecksum } from "../../src/proxy/body-checksum.ts";
import { early, sendSettled, startPlayed } from "./played.ts";
import { maskedIn, requestOf, turnsOf } from "./sessions.ts";

const header = (checksum: string) =>
	`x-anthropic-billing-header: cc_version=2.1.332.18b; cc_entrypoint=cli;${checksum} cc_prompt_id=1-2;`;

/** A request of Claude Code that takes the proxy for Anthropic itself. */
function asked(count: number) {
	const request = requestOf("anthropic", turnsOf(count));
	const body = JSON.parse(String(request.body));
	body.system.unshift({ type: "text", text: header(` cch=ab0${count};`) });
	return { ...request, body: JSON.stringify(body) };
}

describe("the checksum that Claude Code writes into a body", () => {
	it("is gone from an edited request, and stays in one that is not edited", async () => {
		const { start, bodies } = await startPlayed({ policy: early });
		const proxy = await start();
		for (let count = 1; count <= 6; count += 1) await sendSettled(proxy, asked(count));
		const sent = bodies();
		expect(sent[0]).toBe(asked(1).body);
		const edited = sent.filter((body) => maskedIn(body).length > 0);
		expect(edited.length).toBeGreaterThan(0);
		for (const body of edited) expect(JSON.parse(body).system[0]).toEqual({ type: "text", text: header("") });
	});

	it("stays in the words of people and tools, and in texts that are no such block", () => {
		const quoted = JSON.stringify({
			messages: [{ role: "user", content: header(" cch=12345;") }],
			system: [{ type: "text", text: header(" cch=abcde;") }],
		});
		const expected = quoted.replace(" cch=abcde;", "");
		expect(withoutBodyChecksum(quoted, JSON.parse(quoted))).toBe(expected);
		for (const system of [undefined, header(" cch=1;"), [{ type: "text", text: `It is ${header(" cch=1;")}` }]]) {
			const text = JSON.stringify({ system });
			expect(withoutBodyChecksum(text, JSON.parse(text))).toBe(text);
		}
	});
});
