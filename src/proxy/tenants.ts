import type { Archive } from "../storage/archive/archive.ts";
import type { Figures } from "../storage/figures/store.ts";
import { type CallerLimits, createCallerCounts, usualCallerLimits } from "./caller-limits.ts";
import type { Caller, CallerCheck } from "./callers.ts";
import { isSame, type ProxyKeys, pageKeysIn } from "./keys.ts";
import type { PageView, ViewOf } from "./live-pages.ts";
import type { ProxyMetrics } from "./metrics.ts";
import { type Editing, withArchiveOf } from "./sending/editing.ts";
import type { Tenant } from "./serving.ts";
import { booksOfAll, statusOfPeople } from "./status.ts";

/** Where a proxy has several callers. Each has originals, states and figures of its own. */
export interface Callers {
	readonly check: CallerCheck;
	/** The archive of a principal; nobody gets the operator's own. */
	readonly archiveOf: (principal: string) => Promise<Archive | undefined>;
	readonly figuresOf?: ((person: string) => Figures) | undefined;
	readonly limits?: Partial<CallerLimits> | undefined;
}

/** Of people with nothing under way those who were here longest ago are let go: what they have is archived. */
const mostTenants = 500;

export type Tenants = ReturnType<typeof createTenants>;

/** Opens what belongs to each caller at its first request. */
export function createTenants(what: {
	readonly callers: Callers;
	/** Of the operator: only its memory is shared, under names that hold the owner. */
	readonly editing: Editing;
	readonly open: (figures: Figures | undefined) => Pick<Tenant, "ledger" | "keepWarm">;
	readonly now: () => number;
}) {
	const { callers, editing, open, now } = what;
	const started = now();
	const tenants = new Map<string, { readonly opened: Promise<Tenant>; tenant?: Tenant }>();
	/** Of those who were let go. */
	let former = booksOfAll([], started);

	const openTenant = async ({ principal, person, isProved }: Caller): Promise<Tenant> => ({
		...open(callers.figuresOf?.(person)),
		editing: withArchiveOf(editing, await callers.archiveOf(principal)),
		person,
		owner: principal,
		proof: { isGiven: isProved },
		counts: createCallerCounts({ ...usualCallerLimits, ...callers.limits }, now),
		underWay: 0,
	});
	const letGo = (): void => {
		for (const [principal, { tenant }] of tenants) {
			if (tenants.size <= mostTenants) return;
			if (!tenant || tenant.underWay > 0) continue;
			tenants.delete(principal);
			former = booksOfAll([former, tenant.ledger.books()], started);
			tenant.keepWarm?.close();
			void tenant.editing.archive?.close();
		}
	};
	const of = (caller: Caller): Promise<Tenant> => {
		const { principal } = caller;
		const entry = tenants.get(principal) ?? { opened: openTenant(caller) };
		tenants.delete(principal);
		tenants.set(principal, entry);
		entry.opened.then(
			(tenant) => {
				entry.tenant = tenant;
			},
			() => tenants.delete(principal),
		);
		letGo();
		return entry.opened;
	};
	const opened = () => Array.from(tenants.values(), ({ tenant }) => tenant ?? []).flat();
	const books = () => opened().map(({ person, ledger }) => ({ person, books: ledger.books() }));
	return {
		of,
		books: () => booksOfAll([former, ...books().map((one) => one.books)], started),
		/** Of all people, without content. */
		status: () => statusOfPeople(books(), started),
		async close(): Promise<void> {
			for (const { keepWarm } of opened()) keepWarm?.close();
			await Promise.allSettled(opened().map(({ editing }) => editing.archive?.close()));
		},
	};
}

/** The views of a proxy with several callers: for a person's token what belongs to it, for the operator's key the figures of all. */
export function viewsOfPeople({
	tenants,
	callers,
	keys,
	metrics,
}: {
	readonly tenants: Tenants;
	readonly callers: Callers;
	readonly keys: ProxyKeys;
	readonly metrics: ProxyMetrics | undefined;
}): ViewOf {
	const none = () => () => {};
	const viewOf = async (caller: Caller, key?: string): Promise<PageView> => {
		const { ledger, editing } = await tenants.of(caller);
		const { status, onEntry } = ledger;
		return { key, status, onEntry, archive: editing.archive, metrics: undefined };
	};
	return async (request, given) => {
		for (const key of pageKeysIn(request)) {
			if (isSame(key, keys.page)) return { key, status: tenants.status, onEntry: none, archive: undefined, metrics };
			const caller = callers.check.ofToken(key);
			if (caller) return viewOf(caller, key);
		}
		const caller = callers.check.callerOf(given);
		return "principal" in caller ? viewOf(caller) : undefined;
	};
}

export const tokenOfPageExpected =
	"Expected your token of this proxy: /palimpsest/?key=TOKEN in a browser, or Authorization: Bearer TOKEN.";
