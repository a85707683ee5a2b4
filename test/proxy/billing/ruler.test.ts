import { describe, expect, it } from "vitest";
import { createRuler } from "../../../src/proxy/billing/ruler.ts";

/** A provider that counts 2 tokens for each of ours, and adds 500 to each request. */
const real = (counted: number) => 2 * counted + 500;

describe("the ruler of a conversation", () => {
	it("has the count of the provider alone at first", () => {
		const ruler = createRuler();
		expect(ruler.measure(100, undefined)).toEqual({ scale: 1, added: 0 });
		ruler.learn({ model: "m", counted: 100, messages: 1, real: real(100) });
		expect(ruler.measure(100, real(100))).toEqual({ scale: 7, added: 0 });
	});

	it("forgets what a small first request showed, also where later ones are edited", () => {
		const ruler = createRuler();
		for (const counted of [100, 4_000, 9_000, 6_000])
			ruler.learn({ model: "m", counted, messages: 1, real: real(counted) });
		const { scale, added } = ruler.measure(6_000, real(6_000));
		expect(scale).toBeCloseTo(2, 6);
		expect((6_000 + added) * scale).toBeCloseTo(real(6_000), 6);
		const estimate = ruler.measure(20_000, undefined);
		expect((20_000 + estimate.added) * estimate.scale).toBeCloseTo(real(20_000), 0);
	});

	it("tells what the provider adds to a message from what it counts of texts that a masking makes fewer", () => {
		const ruler = createRuler();
		const ofMessages = (counted: number, messages: number) => 1.7 * counted + 30 * messages - 150;
		for (let turn = 1; turn <= 20; turn += 1) {
			const counted = 300 + 20 * turn + 1_000 * (turn % 7);
			ruler.learn({ model: "m", counted, messages: 2 * turn, real: ofMessages(counted, 2 * turn) });
		}
		expect(ruler.measure(6_000, ofMessages(6_000, 42)).scale).toBeCloseTo(1.7, 6);
	});

	it("begins anew with another model, whose tokens are others", () => {
		const ruler = createRuler();
		for (const counted of [100, 9_000]) ruler.learn({ model: "m", counted, messages: 1, real: real(counted) });
		ruler.learn({ model: "other", counted: 9_000, messages: 1, real: 9_000 });
		expect(ruler.measure(9_000, 9_000).scale).toBe(1);
	});

	it("is no line through requests of about the same size", () => {
		const ruler = createRuler();
		for (const [counted, tokens] of [
			[1_000, 2_000],
			[1_010, 1_900],
		] as const)
			ruler.learn({ model: "m", counted, messages: 1, real: tokens });
		expect(ruler.measure(1_000, 2_000).scale).toBeCloseTo(3_900 / 2_010, 9);
	});
});
