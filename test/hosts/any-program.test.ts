import { describe, expect, it } from "vitest";
import { anyProgram } from "../../src/hosts/any-program.ts";
import type { Pointing } from "../../src/hosts/host.ts";
import { origin } from "../support/point-program.ts";

const point = (given: Record<string, string>, upstreams: Pointing["upstreams"] = {}) =>
	anyProgram(
		"agent",
		Object.keys(given).map((name) => `${name}={proxy}/v1`),
		upstreams,
	).point({
		platform: "linux",
		homeFolder: "/home/me",
		environment: given,
		origin,
		folder: "/tmp",
		parameters: [],
		firstParty: true,
	});

describe("a variable that held an address", () => {
	it.each([
		["OPENAI_API_BASE", "openai"],
		["ANTHROPIC_BASE_URL", "anthropic"],
		["ANTHROPIC_BEDROCK_BASE_URL", "bedrock"],
		["ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "anthropic"],
		["ANTHROPIC_VERTEX_BASE_URL", "vertex"],
		["GOOGLE_GEMINI_BASE_URL", "gemini"],
	])("%s names the upstream of %s", async (name, api) => {
		const { upstreams, environment } = await point({ [name]: "https://own.example/v1" });
		// No request goes to another provider with the key of this one.
		expect(upstreams).toEqual({ [api]: "https://own.example/v1" });
		expect(environment).toEqual({ [name]: `${origin}/v1` });
	});

	it("needs --upstream for a cloud, which has no usual address", async () => {
		await expect(point({ ANTHROPIC_VERTEX_BASE_URL: "" })).rejects.toThrow(/Name the provider/);
	});

	it.each([
		["of no known API", { MY_LLM_URL: "https://own.example" }],
		["beside another of its API", { OPENAI_BASE_URL: "https://a.example", OPENAI_API_BASE: "https://b.example" }],
	])("%s is refused, unless --upstream names the provider", async (_what, given) => {
		await expect(point(given)).rejects.toThrow(/Name the provider, such as --upstream openai=URL/);
		const { upstreams } = await point(given, { openai: "https://c.example" });
		expect(upstreams.openai).toBe("https://c.example");
	});
});
