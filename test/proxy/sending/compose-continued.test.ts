import { describe, expect, it } from "vitest";
import { memoryArchive, sendSettled, startPlayed, statusOf } from "../played.ts";
import { outputOf } from "../sessions.ts";

const large = outputOf(1, 40_000);
const tools = [{ type: "function", name: "read_file", parameters: { type: "object" } }];
const output = (text: string, id = "call_1") => ({ type: "function_call_output", call_id: id, output: text });

const asked = (held: object, ...input: object[]) => ({
	method: "POST",
	path: "/v1/responses",
	headers: { "Content-Type": "application/json" },
	body: JSON.stringify({ model: "gpt-6", tools, ...held, input }, null, 1),
});

const outputsIn = (body: string) => JSON.parse(body).input.map((item: { output: string }) => item.output) as string[];

describe("a request whose history the provider keeps", () => {
	it.each([
		["previous_response_id", { previous_response_id: "resp_1" }],
		["conversation", { conversation: "conv_1" }],
		["conversation as an object", { conversation: { id: "conv_1" } }],
	])("is cut where a result is large, and the original can be read: %s", async (_, held) => {
		const archive = await memoryArchive();
		const session = await startPlayed({ archive });
		const proxy = await session.start();
		const request = asked(held, output(large), output("small", "call_2"));
		await sendSettled(proxy, request);
		await sendSettled(proxy, request);
		const [first, again] = session.bodies();
		const [cut = "", small] = outputsIn(first as string);
		expect([cut.length < 16_500, small]).toEqual([true, "small"]);
		expect(again).toBe(first);
		expect(JSON.parse(first as string)).toMatchObject({ ...held, model: "gpt-6", tools });
		expect(cut).toContain(archive.refOf(large));
		expect((await archive.get(archive.refOf(large))).text).toBe(large);
	});

	it("claims no saving, and is named in the status with its reason", async () => {
		const usage = { input_tokens: 90_000, output_tokens: 5, input_tokens_details: { cached_tokens: 80_000 } };
		const session = await startPlayed({}, (_, response) => {
			response.setHeader("Content-Type", "application/json");
			response.end(JSON.stringify({ status: "completed", usage }));
		});
		const proxy = await session.start();
		for (const text of ["small", large, large])
			await sendSettled(proxy, asked({ previous_response_id: "resp_1" }, output(text)));
		const { requests, undecided, edited } = await statusOf(proxy);
		expect([requests.edited, undecided]).toEqual([2, { kept_by_provider: 3 }]);
		expect(edited).toMatchObject({ requests: 3, tokens_left_out: 0, ratio: 1 });
	});

	it("goes out whole where the cut is refused", async () => {
		const request = asked({ previous_response_id: "resp_1" }, output(large));
		const refusing = await startPlayed({}, (received, response) => {
			response.statusCode = received.body.toString() === request.body ? 200 : 400;
			response.end("{}");
		});
		expect((await sendSettled(await refusing.start(), request)).status).toBe(200);
		expect(refusing.bodies()).toHaveLength(2);
	});

	it("is not cut where it is the whole history in a string, and no other request is", async () => {
		const session = await startPlayed();
		const proxy = await session.start();
		for (const one of [
			asked({}, output(large)),
			{ ...asked({}), body: '{ "model": "m", "previous_response_id": "r", "input": "hello" }' },
		]) {
			await sendSettled(proxy, one);
			expect(session.lastBody()).toBe(one.body);
		}
	});
});
