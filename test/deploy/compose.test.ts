import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createProgram } from "../../src/commands/program.ts";
import { packageFolder } from "../support/built-cli.ts";
import { readDockerfile, type Stage, textsOf, wordsOf } from "./read-dockerfile.ts";

interface Service {
	readonly image: string;
	readonly build?: { readonly context: string; readonly dockerfile: string };
	readonly command?: readonly string[];
	readonly read_only?: boolean;
	readonly cap_drop?: readonly string[];
	readonly security_opt?: readonly string[];
	readonly networks: readonly string[];
	readonly secrets?: readonly string[];
	readonly volumes?: readonly string[];
	readonly ports?: readonly string[];
	readonly environment?: Readonly<Record<string, string>>;
	readonly depends_on?: Readonly<Record<string, unknown>>;
	readonly stop_grace_period?: string;
}

interface Compose {
	readonly services: Readonly<Record<string, Service>>;
	readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
	readonly volumes: Readonly<Record<string, unknown>>;
	readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const read = (name: string) => readFile(join(packageFolder, name), "utf8");
const compose = parse(await read("deploy/compose.yaml"), { merge: true }) as Compose;
const [, image] = readDockerfile(await read("deploy/Dockerfile")) as [Stage, Stage];
const services = Object.entries(compose.services);
const servers = services.filter(([name]) => name.startsWith("server-")).map(([, service]) => service);

/** What the command line takes, by name, with whether a value follows. */
const options = new Map(
	createProgram()
		.commands.find((command) => command.name() === "serve")
		?.options.map((option) => [option.long, option.required || option.optional]),
);

function checkCommand([name, ...words]: readonly string[]): number {
	expect(name).toBe("serve");
	let checked = 0;
	for (let index = 0; index < words.length; index += 1) {
		const word = String(words[index]);
		expect([...options.keys()]).toContain(word);
		if (options.get(word)) index += 1;
		checked += 1;
	}
	return checked;
}

const valueAfter = (words: readonly string[], option: string) => String(words[words.indexOf(option) + 1]);

describe("compose.yaml", () => {
	it("names existing services, networks, volumes, secrets and files", async () => {
		expect(servers).toHaveLength(2);
		for (const [, service] of services) {
			for (const network of service.networks) expect(Object.keys(compose.networks)).toContain(network);
			for (const secret of service.secrets ?? []) expect(Object.keys(compose.secrets)).toContain(secret);
			for (const name of Object.keys(service.depends_on ?? {})) expect(Object.keys(compose.services)).toContain(name);
			for (const volume of service.volumes ?? []) {
				const [source = ""] = volume.split(":");
				if (source.startsWith("./")) expect(await read(`deploy/${source}`)).not.toBe("");
				else expect(Object.keys(compose.volumes)).toContain(source);
			}
		}
	});

	it("builds the image of the Dockerfile from the whole checkout", () => {
		for (const { build } of servers) expect(build).toEqual({ context: "..", dockerfile: "deploy/Dockerfile" });
	});

	it("gives each service only the required rights", () => {
		for (const [name, service] of services) {
			expect(service, name).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
			expect(service.security_opt).toEqual(["no-new-privileges:true"]);
			expect(service.image).toMatch(/:\w/);
			expect(service.image).not.toMatch(/:latest$/);
			expect(service.ports === undefined).toBe(name !== "caddy");
		}
		expect(compose.services.redis?.networks).toEqual(["back"]);
		expect(compose.networks.back).toEqual({ internal: true });
	});

	it("starts servers with existing options, behind the name that Caddy serves", () => {
		expect(checkCommand(wordsOf(image, "CMD"))).toBeGreaterThan(3);
		for (const { command = [], secrets } of servers) {
			expect(checkCommand(command)).toBeGreaterThan(5);
			expect(command).toContain("--stateless");
			expect(valueAfter(command, "--auth-tokens")).toBe(`/run/secrets/${secrets?.[0]}`);
			const redis = new URL(valueAfter(command, "--archive"));
			expect(Object.keys(compose.services)).toContain(redis.hostname);
			const site = compose.services.caddy?.environment?.PALIMPSEST_SITE;
			expect(valueAfter(command, "--public-url")).toBe(`https://${site}`);
		}
		expect(valueAfter(wordsOf(image, "CMD"), "--auth-tokens")).toBe("/run/secrets/palimpsest_tokens");
	});

	it("has Caddy check both servers at their addresses", async () => {
		const ports = servers.map(({ command = [] }) => valueAfter(command, "--http").split(":")[1]);
		const asked = compose.services.caddy?.environment?.PALIMPSEST_SERVERS;
		expect(asked).toBe(`server-1:${ports[0]} server-2:${ports[1]}`);
		for (const port of [...ports, valueAfter(servers[0]?.command ?? [], "--metrics").split(":")[1]]) {
			expect(textsOf(image, "EXPOSE").join(" ").split(" ")).toContain(port);
		}
		const caddyfile = await read("deploy/Caddyfile");
		for (const name of ["PALIMPSEST_SITE", "PALIMPSEST_SERVERS"]) expect(caddyfile).toContain(`{$${name}:`);
		expect(caddyfile).toContain("flush_interval -1");
		const braces = [...caddyfile.matchAll(/^.*([{}])$/gm)].map(([, brace]) => brace);
		expect(braces.filter((brace) => brace === "{")).toHaveLength(braces.length / 2);
	});

	it("waits longer for a server to stop than the server needs", () => {
		for (const { stop_grace_period: grace = "0s" } of servers) expect(Number.parseInt(grace, 10)).toBeGreaterThan(10);
	});
});

describe("docs/operations.md", () => {
	it("links to the configuration of each web server", async () => {
		const page = await read("docs/operations.md");
		for (const file of ["nginx.conf", "Caddyfile"]) expect(page).toContain(`](../deploy/${file})`);
	});

	it("names every option of serving over HTTP", async () => {
		const page = await read("docs/operations.md");
		const shared = ["--policy", "--config", "--preset", "--set", "--archive", "--namespace", "--help"];
		const named = [...options.keys()].filter((name) => name !== undefined && !shared.includes(name));
		expect(named.length).toBeGreaterThan(15);
		expect(named.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
	});
});
