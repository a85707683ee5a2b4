import { createHash } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { access } from "node:fs/promises";
import path from "node:path";
import { wrongArgument } from "../../engine/policy/errors.ts";
import type { Environment } from "../../engine/policy/layers.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { PalimpsestError } from "../../errors.ts";
import { stateFolder } from "../files/state-folder.ts";
import { type Archive, defaultRetention, type Retention } from "./archive.ts";
import { type Driver, usingPlace } from "./driver.ts";
import { checkNamespace } from "./reference.ts";
import { isRedisAddress, nameWithoutCredentials, saveAddress, savedAddress } from "./saved-address.ts";

export interface ArchiveOptions {
	readonly where?: string | undefined;
	/** 1 to 64 of a-z, 0-9, `-` and `_`. */
	readonly namespace?: string | undefined;
	readonly retention?: Retention | undefined;
	readonly redact?: readonly string[] | undefined;
	/** Needs secretlint's recommended rules. */
	readonly redactCredentials?: boolean | undefined;
	readonly now?: (() => number) | undefined;
	/** In ms. Changes of the clock do not affect it. */
	readonly uptime?: (() => number) | undefined;
}

/**
 * `undefined` for `none`. Touches no place before the first call. Throws PalimpsestError `invalid_argument`;
 * `archive_unavailable` if the Redis client or secretlint's rules are needed and not installed.
 */
export async function openArchive(options: ArchiveOptions = {}): Promise<Archive | undefined> {
	const { redact = [], redactCredentials = false, now = Date.now, uptime } = options;
	const namespace = checkNamespace(options.namespace ?? "default");
	const { retention = defaultRetention } = options;
	checkRetention(retention);
	const { createRedact, findCredentials, findPatterns } = await import("./redact.ts");
	const patterns = redact.length > 0 ? [await findPatterns(redact)] : [];
	const driver = await openDriver(options.where ?? "files", { namespace, retention, now });
	if (!driver) return undefined;
	const { createArchive } = await import("./store.ts");
	const finders = redactCredentials ? [...patterns, await findCredentials()] : patterns;
	const redacts = finders.length > 0;
	return createArchive({ namespace, driver, redact: createRedact(finders), redacts, now, uptime });
}

async function openDriver(
	where: string,
	options: { readonly namespace: string; readonly retention: Retention; readonly now: () => number },
): Promise<Driver | undefined> {
	const place = archivePlace(where);
	if (place === "none") return undefined;
	if (place === "memory") return (await import("./memory.ts")).createMemoryDriver(options);
	if (place === "redis") {
		const url = savedAddress(where, { namespace: options.namespace, folder: addressFolder() });
		return (await import("./redis.ts")).createRedisDriver({ ...options, url });
	}
	const folder = place === "folder" ? path.resolve(where) : path.join(stateFolder(), "archive");
	return (await import("./files.ts")).createFilesDriver({ ...options, folder });
}

function checkRetention(retention: unknown): void {
	const { maxAgeMs, maxBytes } = (retention ?? {}) as Partial<Retention>;
	const isAboveZero = (value: unknown) => Number.isFinite(value) && Number(value) > 0;
	if (isAboveZero(maxAgeMs) && isAboveZero(maxBytes)) return;
	const expected = "Expected the archive's retention to be an age (`maxAgeMs`) and a size (`maxBytes`) above 0.";
	throw new PalimpsestError("invalid_argument", expected);
}

export type ArchiveLocation = Readonly<Record<"where" | "namespace", string>>;

const day = 24 * 3_600_000;

/** Opens an archive with the retention and the redaction of a policy. Throws PalimpsestError as `openArchive` does. */
export function openArchiveOfPolicy(location: ArchiveLocation, policy: Pick<Policy, "archive">) {
	const { max_age_days, max_bytes, redact, redact_credentials: redactCredentials } = policy.archive;
	const retention = { maxAgeMs: max_age_days * day, maxBytes: max_bytes };
	return openArchive({ ...location, retention, redact, redactCredentials });
}

/** Addresses begin with `redis:`, `rediss:` or `saved:`; a folder's path is absolute or begins with `./` or `../`. */
export function archivePlace(where: string): "none" | "memory" | "files" | "folder" | "redis" {
	// A program's own code may give anything.
	if (typeof where !== "string") throw wrongArgument("the archive", "a name, an address or a folder", where);
	if (where === "none" || where === "memory" || where === "files") return where;
	if (isRedisAddress(where)) return "redis";
	if (path.isAbsolute(where) || /^\.\.?[\\/]/.test(where)) return "folder";
	const message =
		"Expected the archive to be files, memory, none, redis://HOST:PORT, or a folder such as /var/lib/palimpsest or ./archive.";
	throw new PalimpsestError("invalid_argument", message);
}

function addressFolder(): string {
	return path.join(stateFolder(), "addresses");
}

/**
 * The archive named by argument, else by variable, else the user's files. Throws `invalid_argument`; `archive_unavailable`
 * for a name whose address is not saved here.
 */
export function archiveLocation(named: {
	readonly archive?: string | undefined;
	readonly namespace?: string | undefined;
	readonly environment: Environment;
}): ArchiveLocation {
	const { archive, namespace, environment } = named;
	const name = archive ?? (environment.PALIMPSEST_ARCHIVE || "files");
	const checked = checkNamespace(namespace ?? (environment.PALIMPSEST_NAMESPACE || "default"));
	const isSaved = archivePlace(name) === "redis";
	const where = isSaved ? savedAddress(name, { namespace: checked, folder: addressFolder() }) : name;
	return { where, namespace: checked };
}

/**
 * The name of an archive for other programs on this machine, from any folder. It holds no credentials: those of an address
 * have to be saved. Throws `invalid_argument`.
 */
export function nameForPrograms({ where }: Pick<ArchiveLocation, "where">): string {
	return archivePlace(where) === "folder" ? path.resolve(where) : nameWithoutCredentials(where);
}

/** Keeps the credentials of an address for this user, so that its name leads to them. Throws `archive_unavailable`. */
export function saveCredentials({ where, namespace }: ArchiveLocation): Promise<void> {
	return saveAddress(where, { namespace, folder: addressFolder() });
}

/** One look-up, and for a folder whether it can be written or made. It stores nothing. Throws `archive_unavailable`. */
export async function probeArchive(archive: Archive, { where }: Pick<ArchiveLocation, "where">): Promise<void> {
	// No call has this id.
	await archive.find("palimpsest:readiness");
	const place = archivePlace(where);
	if (place !== "files" && place !== "folder") return;
	const { location } = archive;
	await usingPlace(location, () => access(nearestFolder(path.resolve(location)), constants.W_OK));
}

function nearestFolder(folder: string): string {
	const above = path.dirname(folder);
	return above === folder || existsSync(folder) ? folder : nearestFolder(above);
}

/** The archive of a process. `use` opens it and keeps it open during the work. `end` closes it after the last use. */
export type ArchiveSource = NonNullable<ReturnType<typeof createArchiveSource>>;

interface OpenArchive {
	readonly key: string;
	readonly archive: Promise<Archive>;
	uses: number;
}

/** Opens the archive at its first use, so that a server starts fast, and again when its section of the policy changes. */
export function createArchiveSource(from: { readonly location: ArchiveLocation; readonly policy: () => Policy }) {
	const { location } = from;
	if (location.where === "none") return undefined;
	let current: OpenArchive | undefined;
	let hasEnded = false;

	const opened = (): OpenArchive => {
		const policy = from.policy();
		// An archive in memory loses its content when it closes, so it keeps its first policy.
		const key = location.where === "memory" ? "" : JSON.stringify(policy.archive);
		if (current?.key === key) return current;
		const former = current;
		const next: OpenArchive = { key, archive: openArchiveOfPolicy(location, policy) as Promise<Archive>, uses: 0 };
		current = next;
		next.archive.catch(() => {
			if (current === next) current = undefined;
		});
		if (former) closeUnused(former);
		return next;
	};
	const closeUnused = (one: OpenArchive): void => {
		if (one.uses > 0 || (one === current && !hasEnded)) return;
		if (one === current) current = undefined;
		// Callers of `use` already got the error if the archive could not be opened.
		one.archive.then((archive) => archive.close()).catch(() => undefined);
	};

	return {
		async use<T>(work: (archive: Archive) => Promise<T>): Promise<T> {
			const one = opened();
			one.uses += 1;
			try {
				return await work(await one.archive);
			} finally {
				one.uses -= 1;
				closeUnused(one);
			}
		},
		end(): void {
			hasEnded = true;
			if (current) closeUnused(current);
		},
	};
}

/** Opens archives by location at their first use. Keeps `mostOpen` of them open, since each may hold a connection. */
export function createArchives({ mostOpen, policy }: { readonly mostOpen: number; readonly policy: () => Policy }) {
	const sources = new Map<string, ArchiveSource>();
	return {
		of(location: ArchiveLocation): ArchiveSource | undefined {
			const key = JSON.stringify(location);
			const source = sources.get(key) ?? createArchiveSource({ location, policy });
			if (!source) return undefined;
			sources.delete(key);
			sources.set(key, source);
			const [longestUnused] = sources.keys();
			// An archive in memory would lose its originals. Any other one is opened again at its next use.
			if (sources.size > mostOpen && longestUnused !== undefined && location.where !== "memory") {
				sources.get(longestUnused)?.end();
				sources.delete(longestUnused);
			}
			return source;
		},
		end(): void {
			for (const source of sources.values()) source.end();
			sources.clear();
		},
	};
}

export function createPrincipalArchives(from: { readonly location: ArchiveLocation; readonly policy: () => Policy }) {
	const { of, end } = createArchives({ mostOpen: 64, policy: from.policy });
	return { of: (principal: string) => of(locationOfPrincipal(from.location, principal)), end };
}

export function locationOfPrincipal(location: ArchiveLocation, principal: string): ArchiveLocation {
	return { ...location, namespace: namespaceOfPrincipal(location.namespace, principal) };
}

/** The hash over both names makes it unique to the principal; the words are for people who look at folders. */
function namespaceOfPrincipal(operators: string, principal: string): string {
	const hash = createHash("sha256").update(JSON.stringify([operators, principal]));
	const name = principal.slice(principal.lastIndexOf(" ") + 1);
	const words = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
	return checkNamespace(`${operators.slice(0, 14)}-${words.slice(0, 16)}-${hash.digest("hex").slice(0, 32)}`);
}
