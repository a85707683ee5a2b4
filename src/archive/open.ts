import { homedir } from "node:os";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";
import { type Archive, defaultRetention, type Retention } from "./archive.ts";
import type { Driver } from "./driver.ts";
import { checkNamespace } from "./reference.ts";

export interface ArchiveOptions {
	readonly where?: string | undefined;
	/** 1 to 64 of a-z, 0-9, `-` and `_`. */
	readonly namespace?: string | undefined;
	readonly retention?: Retention | undefined;
	readonly redact?: readonly string[] | undefined;
	/** Needs secretlint's recommended rules. */
	readonly redactCredentials?: boolean | undefined;
	readonly now?: (() => number) | undefined;
	/** In ms; a change of the clock does not affect it. */
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
	const patterns = redact.length === 0 ? [] : [(await import("./pattern.ts")).findPatterns(redact)];
	const driver = await openDriver(options.where ?? "files", { namespace, retention, now });
	if (!driver) return undefined;
	const [{ createArchive }, { createRedact, findCredentials }] = await Promise.all([
		import("./store.ts"),
		import("./redact.ts"),
	]);
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
	if (place === "redis") return (await import("./redis.ts")).createRedisDriver({ ...options, url: where });
	const { platform, env: environment } = process;
	const folder =
		place === "folder" ? path.resolve(where) : archiveFolderOf({ platform, environment, homeFolder: homedir() });
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

/** With the retention and the redaction of a policy. Throws PalimpsestError as `openArchive` does. */
export function openArchiveOfPolicy(location: ArchiveLocation, policy: Pick<Policy, "archive">) {
	const { max_age_days, max_bytes, redact, redact_credentials: redactCredentials } = policy.archive;
	const retention = { maxAgeMs: max_age_days * day, maxBytes: max_bytes };
	return openArchive({ ...location, retention, redact, redactCredentials });
}

/** Addresses begin with `redis:` or `rediss:`; a folder's path is absolute or begins with `./` or `../`. */
export function archivePlace(where: string): "none" | "memory" | "files" | "folder" | "redis" {
	if (where === "none" || where === "memory" || where === "files") return where;
	if (/^rediss?:/.test(where)) return "redis";
	if (path.isAbsolute(where) || /^\.\.?[\\/]/.test(where)) return "folder";
	const message =
		"Expected the archive to be files, memory, none, redis://HOST:PORT, or a folder such as /var/lib/palimpsest or ./archive.";
	throw new PalimpsestError("invalid_argument", message);
}

/** By default in the user's state folder (https://specifications.freedesktop.org/basedir-spec/latest/). */
export function archiveFolderOf(where: {
	readonly platform: NodeJS.Platform;
	readonly environment: Readonly<Record<string, string | undefined>>;
	readonly homeFolder: string;
}): string {
	const { platform, environment, homeFolder } = where;
	if (platform === "win32") {
		const local = environment.LOCALAPPDATA || path.win32.join(homeFolder, "AppData", "Local");
		return path.win32.join(local, "palimpsest", "archive");
	}
	if (platform === "darwin") {
		return path.posix.join(homeFolder, "Library", "Application Support", "palimpsest", "archive");
	}
	const state = environment.XDG_STATE_HOME ?? "";
	const folder = path.posix.isAbsolute(state) ? state : path.posix.join(homeFolder, ".local", "state");
	return path.posix.join(folder, "palimpsest", "archive");
}
