import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { origin, pointIn, refusal } from "../support/point-program.ts";
import { chatGptSignIn } from "../support/sign-ins.ts";

let here: Awaited<ReturnType<typeof pointIn>>;
beforeEach(async () => {
	here = await pointIn();
});
const config = (text: string, file = "config.toml") => here.settings(`.codex/${file}`, text);
const point = (given: readonly string[] = [], environment: Record<string, string> = {}) =>
	here.point("codex", environment, given);
const baseUrl = (url: string) => ["-c", `openai_base_url="${url}"`];

describe("the address of Codex", () => {
	it("is set by a flag, with the version that the provider's ends with", async () => {
		const { upstreams, parameters, environment } = await point();
		expect(upstreams).toEqual({ openai: "https://api.openai.com/v1" });
		expect([parameters, environment]).toEqual([baseUrl(`${origin}/v1`), {}]);
		await config('openai_base_url = "https://gateway.example/codex"\n');
		const gateway = await point();
		expect(gateway.upstreams).toEqual({ openai: "https://gateway.example/codex" });
		expect(gateway.parameters).toEqual(baseUrl(origin));
	});

	it("is the address of the user's own provider", async () => {
		const own = 'model_provider = "mine"\n[model_providers.mine]\nbase_url = "https://mine.example/v1"\n';
		await here.settings("elsewhere/config.toml", own);
		const { upstreams, parameters } = await point([], { CODEX_HOME: join(here.home, "elsewhere") });
		expect(upstreams).toEqual({ openai: "https://mine.example/v1" });
		expect(parameters).toEqual(["-c", `model_providers.mine.base_url="${origin}/v1"`]);
	});
});

describe("the provider of Codex", () => {
	const mine = '[model_providers.mine]\nbase_url = "https://mine.example/v1"\n';

	it("comes from the profile in force, in the settings or on the command line", async () => {
		const profile = 'model_provider = "openai"\n[profiles.work]\nmodel_provider = "mine"\n';
		await config(`profile = "work"\n${profile}${mine}`);
		expect((await point()).upstreams).toEqual({ openai: "https://mine.example/v1" });
		await config(profile + mine);
		expect((await point()).upstreams).toEqual({ openai: "https://api.openai.com/v1" });
		for (const given of [["-p", "work"], ["--profile=work"]]) {
			expect((await point(given)).upstreams).toEqual({ openai: "https://mine.example/v1" });
		}
		await config('model_provider = "mine"\n', "night.config.toml");
		expect((await point(["--profile", "night"])).upstreams).toEqual({ openai: "https://mine.example/v1" });
	});

	it("comes from the command line first", async () => {
		await config(mine);
		for (const value of ["mine", '"mine"']) {
			const {
				upstreams,
				parameters,
				ownParameters: given,
			} = await point(["-c", `model_provider=${value}`, "exec", "hi"]);
			expect(upstreams).toEqual({ openai: "https://mine.example/v1" });
			expect(parameters).toEqual(["-c", `model_providers.mine.base_url="${origin}/v1"`]);
			expect(given).toEqual(["-c", `model_provider=${value}`, "exec", "hi"]);
		}
	});

	it("has the address that the command line names for an upstream, and ours in its place", async () => {
		const {
			upstreams,
			parameters,
			ownParameters: given,
		} = await point(["-c", 'openai_base_url="https://x.example/v1"', "hi"]);
		expect(upstreams).toEqual({ openai: "https://x.example/v1" });
		expect([parameters, given]).toEqual([baseUrl(`${origin}/v1`), ["hi"]]);
	});

	it("is refused where it has no address", async () => {
		await config('model_provider = "ollama"\n');
		await expect(point()).rejects.toEqual(refusal(/the address of its provider \(ollama\)/));
		await config("");
		await expect(point(["--oss", "--local-provider", "lmstudio"])).rejects.toEqual(
			refusal(/the address of its provider \(lmstudio\)/),
		);
	});
});

describe("a ChatGPT sign-in", () => {
	const uncompressed = ["-c", "features.enable_request_compression=false"];
	const backend = { openai: "https://chatgpt.com/backend-api/codex" };

	it("has the backend for an upstream, no path in our address, and no compression", async () => {
		await here.settings(".codex/auth.json", chatGptSignIn(new Date()));
		const { upstreams, parameters } = await point();
		expect(upstreams).toEqual(backend);
		expect(parameters).toEqual([...baseUrl(origin), ...uncompressed]);
		// A key of the environment counts for `codex exec` alone.
		expect((await point(["hi"], { CODEX_API_KEY: "k", OPENAI_API_KEY: "k" })).upstreams).toEqual(backend);
		const keyed = await point(["exec", "hi"], { CODEX_API_KEY: "k" });
		expect(keyed.upstreams).toEqual({ openai: "https://api.openai.com/v1" });
	});

	it("serves a provider that asks for it", async () => {
		await here.settings(".codex/auth.json", chatGptSignIn(new Date()));
		await config('model_provider = "mine"\n[model_providers.mine]\nname = "OpenAI"\nrequires_openai_auth = true\n');
		const { upstreams, parameters } = await point();
		expect(upstreams).toEqual(backend);
		expect(parameters).toEqual(["-c", `model_providers.mine.base_url="${origin}"`, ...uncompressed]);
	});

	it("is distinguished from a key, in files of older versions too", async () => {
		const auth = (value: unknown) => here.settings(".codex/auth.json", value);
		await auth({ OPENAI_API_KEY: null, tokens: { access_token: "x" } });
		expect((await point()).upstreams).toEqual(backend);
		for (const keyed of [
			{ OPENAI_API_KEY: "k", tokens: null },
			{ auth_mode: "apikey", OPENAI_API_KEY: "k", tokens: { access_token: "x" } },
		]) {
			await auth(keyed);
			expect((await point()).upstreams).toEqual({ openai: "https://api.openai.com/v1" });
		}
	});

	it("is asked for where it is in the keyring", async () => {
		await config('cli_auth_credentials_store = "keyring"\n');
		await expect(point()).rejects.toEqual(refusal(/in the keyring.*forced_login_method/));
		await config('cli_auth_credentials_store = "keyring"\nforced_login_method = "chatgpt"\n');
		expect((await point()).upstreams).toEqual(backend);
		await config('cli_auth_credentials_store = "keyring"\nforced_login_method = "api"\n');
		expect((await point()).upstreams).toEqual({ openai: "https://api.openai.com/v1" });
	});
});
