import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { createProgram } from "../../src/commands/program.ts";
import { packageFolder } from "../support/built-cli.ts";

interface Service {
	readonly command?: readonly string[];
	readonly networks: readonly string[];
	readonly secrets?: readonly string[];
	readonly ports?: readonly string[];
	readonly volumes?: readonly string[];
	readonly environment?: Readonly<Record<string, string>>;
	readonly depends_on?: Readonly<Record<string, unknown>>;
	readonly stop_grace_period?: string;
}

interface Container {
	readonly args: readonly string[];
	readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
	readonly readinessProbe: { readonly httpGet?: { readonly path: string; readonly port: number } };
}

interface Manifest {
	readonly kind: string;
	readonly metadata: { readonly name: string };
	readonly spec: {
		readonly replicas?: number;
		readonly strategy?: { readonly rollingUpdate: unknown };
		readonly template?: {
			readonly spec: {
				readonly terminationGracePeriodSeconds?: number;
				readonly containers: readonly Container[];
				readonly volumes?: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
			};
		};
	};
}

const read = (name: string) => readFile(join(packageFolder, "deploy", name), "utf8");
const compose = parse(await read("proxy.compose.yaml"), { merge: true }) as {
	readonly services: Readonly<Record<string, Service>>;
	readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
	readonly secrets: Readonly<Record<string, { readonly file: string }>>;
	readonly volumes: Readonly<Record<string, unknown>>;
};
const manifests = parseAllDocuments(await read("kubernetes.yaml")).map((one) => one.toJS() as Manifest);
const deployment = manifests.find(({ kind }) => kind === "Deployment") as Manifest;
const pod = deployment.spec.template?.spec as NonNullable<Manifest["spec"]["template"]>["spec"];
const [container] = pod.containers as [Container];
const services = Object.entries(compose.services);
const proxies = services.filter(([name]) => name.startsWith("proxy-")).map(([, service]) => service);

/** Checks a command line against the options that the command has, and returns the values that it gives them. */
function valuesOf([name, ...words]: readonly string[]): Map<string, string> {
	const command = createProgram().commands.find((one) => one.name() === name);
	const options = new Map(command?.options.map((one) => [one.long, one.required || one.optional]));
	const values = new Map<string, string>();
	for (let index = 0; index < words.length; index += 1) {
		const word = String(words[index]);
		expect([...options.keys()]).toContain(word);
		if (options.get(word)) index += 1;
		values.set(word, String(words[index]));
	}
	return values;
}

/** A signal gives a balancer 5 s, then running answers the seconds of the option, and the archive 2 s twice. */
const needed = (values: ReadonlyMap<string, string>) => 5 + Number(values.get("--shutdown-seconds")) + 4;

describe("proxy.compose.yaml", () => {
	it("starts three proxies of existing options, which callers need a token for, on one Redis", () => {
		expect(proxies).toHaveLength(3);
		for (const { command = [], secrets = [], environment, stop_grace_period: grace = "0s" } of proxies) {
			const values = valuesOf(command);
			for (const [option, secret] of [
				["--auth-tokens", secrets[0]],
				["--key-file", secrets[1]],
			])
				expect(values.get(option as string)).toBe(`/run/secrets/${secret}`);
			expect(Number.parseInt(grace, 10)).toBeGreaterThan(needed(values));
			expect(Object.keys(compose.services)).toContain(new URL(environment?.PALIMPSEST_ARCHIVE ?? "").hostname);
		}
		expect(valuesOf(compose.services["server-1"]?.command ?? []).get("--auth-tokens")).toBe(
			proxies[0] && valuesOf(proxies[0].command ?? []).get("--auth-tokens"),
		);
	});

	it("names existing networks, secrets, volumes, services and files, and opens Caddy alone", async () => {
		for (const [name, service] of services) {
			expect(Object.keys(compose.networks)).toEqual(expect.arrayContaining([...service.networks]));
			expect(Object.keys(compose.secrets)).toEqual(expect.arrayContaining([...(service.secrets ?? [])]));
			expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(Object.keys(service.depends_on ?? {})));
			expect(service.ports === undefined).toBe(name !== "caddy");
			for (const volume of service.volumes ?? []) {
				const [source = ""] = volume.split(":");
				if (source.startsWith("./")) expect(await read(source)).not.toBe("");
				else expect(Object.keys(compose.volumes)).toContain(source);
			}
		}
		expect(compose.services.redis?.networks).toEqual(["back"]);
		expect(compose.networks.back).toEqual({ internal: true });
		const ignored = (await read(".gitignore")).split("\n");
		for (const { file } of Object.values(compose.secrets)) expect(ignored).toContain(file.replace("./", ""));
	});

	it("has Caddy ask each proxy whether requests can come", async () => {
		const caddyfile = await read("proxy.Caddyfile");
		const { PALIMPSEST_PROXIES, PALIMPSEST_SERVERS } = compose.services.caddy?.environment ?? {};
		const named = Object.keys(compose.services).filter((name) => /^proxy-\d$/.test(name));
		expect(PALIMPSEST_PROXIES).toBe(named.map((name) => `${name}:8765`).join(" "));
		expect(PALIMPSEST_SERVERS).toBe("server-1:8765");
		for (const name of ["SITE", "PROXIES", "SERVERS"]) expect(caddyfile).toContain(`{$PALIMPSEST_${name}:`);
		expect(caddyfile).toContain("health_uri /readyz");
		const braces = [...caddyfile.matchAll(/^.*([{}])$/gm)].map(([, brace]) => brace);
		expect(braces.filter((brace) => brace === "{")).toHaveLength(braces.length / 2);
	});
});

describe("kubernetes.yaml", () => {
	it("starts three proxies of existing options, and replaces them one by one", () => {
		const values = valuesOf(container.args);
		expect(deployment.spec.replicas).toBe(3);
		expect(deployment.spec.strategy?.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
		expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(needed(values));
		expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: 8765 });
		expect(values.get("--listen")).toBe("0.0.0.0:8765");
		const mounted = container.volumeMounts.find(({ name }) => name === "secrets")?.mountPath;
		expect(values.get("--auth-tokens")).toBe(`${mounted}/tokens`);
		expect(values.get("--key-file")).toBe(`${mounted}/operator-key`);
		const redis = new URL(values.get("--archive") ?? "").hostname;
		expect(
			manifests
				.filter(({ metadata }) => metadata.name === redis)
				.map(({ kind }) => kind)
				.sort(),
		).toEqual(["NetworkPolicy", "Service", "StatefulSet"]);
	});
});
