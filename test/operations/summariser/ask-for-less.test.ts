import { describe, expect, it } from "vitest";
import { followUps } from "../../../src/engine/compaction/prompt.ts";
import { ask, summariserError } from "./asking.ts";
import { complete, refuse } from "./chat-server.ts";

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });

describe("a truncated answer", () => {
	it("is requested again, more concisely: length twice, then stop", async () => {
		const asked = await ask([complete("too lo", "length"), complete("still too", "length"), complete("short")]);
		expect(asked.answer).toMatchObject({ text: "short", finishReason: "stop" });
		expect(asked.server.requests.map(({ body }) => body.messages)).toEqual([
			[user("Summarise this.")],
			[user("Summarise this."), assistant("too lo"), user(followUps.fr)],
			[user("Summarise this."), assistant("still too"), user(followUps.fr)],
		]);
		const phases = asked.progress.map((one) => (one.kind === "phase" ? one.phase : one.kind));
		expect(phases).toEqual(["asking", "asking_for_less", "asking", "asking_for_less", "asking"]);
		expect(asked.delays).toEqual([]);
	});

	it("is requested once per allowed try, and never passed on", async () => {
		const asked = await ask([complete("endless", "length")]);
		expect(summariserError(asked)).toMatchObject({ code: "unknown", status_code: 200, is_retryable: false });
		expect(asked.server.requests.length).toBe(4);
		const none = await ask([complete("endless", "length")], { retry: { maxRetries: 0 } });
		expect(none.server.requests.length).toBe(1);
	});

	it.each(["max_tokens", "model_length"])("%s is recognised too", async (reason) => {
		expect((await ask([complete("cu", reason), complete("whole")])).answer?.text).toBe("whole");
	});

	it.each([null, "", "  "])(
		"that is %j, since all tokens went into thinking, is requested again in one message",
		async (content) => {
			const asked = await ask([complete(content, "length"), complete("short")], {}, { locale: "en" });
			expect(asked.answer?.text).toBe("short");
			expect(asked.server.requests[1]?.body.messages).toEqual([user(`Summarise this.\n\n${followUps.en}`)]);
		},
	);

	it("shares its retries with failures: seven requests at most", async () => {
		const cut = complete("cut", "length");
		const asked = await ask([refuse(500), cut, refuse(429), cut, refuse(503), cut, complete("short")]);
		expect(asked.answer?.text).toBe("short");
		expect(asked.delays).toEqual([2, 4, 8]);
		const failing = await ask([refuse(500), cut, refuse(429), cut, refuse(503), cut, refuse(500)]);
		expect(summariserError(failing).code).toBe("server_error");
		expect(failing.server.requests.length).toBe(7);
	});

	it("is followed up in the words of the locale (docs/compaction.md#cut-answers)", async () => {
		expect(followUps.fr).toBe(
			"[Système] Ta réponse a été tronquée (max_tokens atteint). Résume ta réponse de manière plus concise.",
		);
		const { server } = await ask([complete("cut", "length"), complete()], {}, { locale: "zh" });
		expect(server.requests[1]?.body.messages.at(-1)?.content).toBe(followUps.zh);
	});
});
