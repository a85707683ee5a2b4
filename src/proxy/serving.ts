import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Log } from "../log.ts";
import type { Hold } from "../operations/http/body.ts";
import type { Accounts } from "./accounts.ts";
import type { CachingRecord } from "./billing/observed-caching.ts";
import type { createCallerCounts } from "./caller-limits.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { Asked, Upstream } from "./forward.ts";
import type { KeepWarm } from "./keep-warm.ts";
import type { Ledger } from "./ledger.ts";
import type { Route } from "./routes.ts";
import type { Editing } from "./sending/editing.ts";

/** The parts that all requests of a proxy share. */
export interface Serving {
	readonly editing: Editing;
	readonly accounts: Accounts;
	readonly caching: CachingRecord;
	readonly ledger: Ledger;
	readonly log: Log | undefined;
	/** Reads an original in a shell when its reference follows. Absent: no shell of a caller reads any. */
	readonly recallCommand: string | undefined;
	/** Whether the host was told that it talks to Anthropic itself, so that it may send threads. */
	readonly refusesThreads: boolean;
	/** Absent unless the cache is kept warm. */
	readonly keepWarm: KeepWarm | undefined;
	/** Absent unless the provider is asked why its cache broke. */
	readonly diagnosis: Diagnosis | undefined;
	/** Takes work that no request waits for. */
	readonly inBackground: (work: Promise<void>) => void;
	/** Whether a program is gone once the connection of its last request is closed. */
	readonly leavesWithConnection: boolean;
}

/** What belongs to one caller. */
export interface Tenant extends Pick<Serving, "editing" | "ledger" | "keepWarm"> {
	readonly person: string;
	/** The identity to which states belong; "" for the only user of a machine. */
	readonly owner: string;
	/** Whether the provider has accepted the key that names the caller. Before, nothing new is decided or archived for it. */
	readonly proof: { isGiven: boolean };
	/** Absent: without limits. */
	readonly counts?: ReturnType<typeof createCallerCounts>;
	/** Requests that are under way or planned on. */
	underWay: number;
}

/** One request and its answer. */
export interface Exchange extends Serving, Pick<Tenant, "owner" | "proof" | "counts"> {
	readonly response: ServerResponse;
	readonly route: Route;
	readonly upstream: Upstream;
	/** The project that the caller names. */
	readonly project?: string | undefined;
}

export type AskedWhole = Omit<Asked, "body"> & {
	readonly body: { readonly bytes: Buffer; readonly hold: Hold };
	readonly headers: IncomingHttpHeaders;
};
