import { loadPrometheus } from "../operations/http/prometheus.ts";
import { version } from "../version.ts";
import type { ProxyStatus } from "./status.ts";

export type ProxyMetrics = Awaited<ReturnType<typeof createProxyMetrics>>;

/** Metrics for Prometheus from the ledger. Labels are names of ours: no model, no text, no id. Throws `invalid_argument`. */
export async function createProxyMetrics(status: () => ProxyStatus) {
	const { Counter, Gauge, Registry, collectDefaultMetrics } = await loadPrometheus();
	const registry = new Registry();
	collectDefaultMetrics({ register: registry });
	const registers = [registry];
	const build = { name: "palimpsest_build_info", help: "1, with the version that runs.", labelNames: ["version"] };
	new Gauge({ ...build, registers }).set({ version }, 1);
	for (const { name, help, label, read } of counters) {
		new Counter({
			name: `palimpsest_proxy_${name}_total`,
			help,
			labelNames: label === undefined ? [] : [label],
			registers,
			// The ledger counts already.
			collect() {
				this.reset();
				const values = read(status());
				if (typeof values === "number") this.inc(values);
				else for (const [kind, value] of Object.entries(values)) this.inc({ [label as string]: kind }, value);
			},
		});
	}
	return { contentType: registry.contentType, text: () => registry.metrics() };
}

interface ProxyCounter {
	readonly name: string;
	readonly help: string;
	/** Its values are the keys that `read` returns. */
	readonly label?: string;
	readonly read: (status: ProxyStatus) => number | Readonly<Record<string, number>>;
}

const sumOf = (key: "tokens_sent" | "tokens_left_out" | "billed") => (status: ProxyStatus) =>
	status.edited[key] + status.held_out[key];

const counters: readonly ProxyCounter[] = [
	{
		name: "requests",
		help: "Requests: all, edited, passed on unread, sent again after a refusal, and of threads.",
		label: "kind",
		read: ({ requests: { requests, ...others } }) => ({ all: requests, ...others }),
	},
	{ name: "undecided", help: "Requests without new decisions.", label: "reason", read: ({ undecided }) => undecided },
	{
		name: "faults",
		help: "Faults of the proxy, each of which costs new decisions only.",
		label: "fault",
		read: ({ faults }) => faults,
	},
	{ name: "tokens_sent", help: "Tokens of prompts, as providers report them.", read: sumOf("tokens_sent") },
	{ name: "tokens_left_out", help: "Tokens that were left out of prompts.", read: sumOf("tokens_left_out") },
	{ name: "billed", help: "The bill of prompts, in prices of an input token.", read: sumOf("billed") },
	{
		name: "billed_unedited",
		help: "The bill of the same prompts unedited, where it is known.",
		read: ({ edited, held_out }) => (edited.billed_unedited ?? 0) + (held_out.billed_unedited ?? 0),
	},
	{ name: "pings", help: "Requests that kept caches warm.", read: ({ kept_warm }) => kept_warm.pings },
];
