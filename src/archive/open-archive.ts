import { homedir } from "node:os";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { checkOptions, type OptionKinds } from "../policy/check-options.ts";
import { optionKinds } from "../policy/option-kinds.ts";
import { type Archive, defaultRetention, type Retention } from "./archive.ts";
import { archivePlace } from "./archive-place.ts";
import { createArchive } from "./create-archive.ts";
import type { Driver } from "./driver.ts";
import { createFilesDriver } from "./files/files-driver.ts";
import { createMemoryDriver } from "./memory-driver.ts";
import { checkNamespace } from "./namespace.ts";
import { createRedact } from "./redact.ts";
import { archiveFolderOf } from "./state-folder.ts";

/** Which archive to open. */
export interface ArchiveOptions {
	/** As `archivePlace` takes it; by default `files`. */
	readonly where?: string | undefined;
	/** 1 to 64 of a-z, 0-9, `-` and `_`. */
	readonly namespace?: string | undefined;
	readonly retention?: Retention | undefined;
	/** Regular expressions (RE2's syntax) for what must not be stored. */
	readonly redact?: readonly string[] | undefined;
	/** Whether credentials of well-known shapes are not stored either; needs secretlint, as `openCredentialFinder` says. */
	readonly redactCredentials?: boolean | undefined;
	/** The clock, in ms since 1970. */
	readonly now?: (() => number) | undefined;
	/** For how long this machine has run, in ms: time that no change of the clock touches. */
	readonly uptime?: (() => number) | undefined;
}

const { anything, flag, function: callback, string, strings } = optionKinds;
const archiveKinds: OptionKinds<ArchiveOptions> = {
	where: string,
	namespace: string,
	// Has an error of its own.
	retention: anything,
	redact: strings,
	redactCredentials: flag,
	now: callback,
	uptime: callback,
};

/**
 * Opens an archive; `undefined` for `none`, where nothing is kept and no placeholder may promise anything. Touches no
 * file and waits for no server: a place that cannot be used shows in the first call.
 *
 * @throws PalimpsestError `invalid_argument`; `archive_unavailable` where the Redis client or secretlint is asked for
 * and not installed.
 */
export async function openArchive(options: ArchiveOptions = {}): Promise<Archive | undefined> {
	checkOptions<ArchiveOptions>(options, "openArchive", archiveKinds);
	const { redact = [], redactCredentials = false, now = Date.now, uptime } = options;
	const namespace = checkNamespace(options.namespace ?? "default");
	const retention = checkRetention(options.retention === undefined ? defaultRetention : options.retention);
	const patterns = redact.length === 0 ? [] : [(await import("./find-patterns.ts")).findPatterns(redact)];
	const driver = await driverFor(options.where ?? "files", { namespace, retention, now });
	if (!driver || !redactCredentials) {
		return (
			driver &&
			createArchive({ namespace, driver, redact: createRedact(patterns), redacts: patterns.length > 0, now, uptime })
		);
	}
	const { openCredentialFinder } = await import("./credentials.ts");
	const credentials = await openCredentialFinder();
	const close = async () => {
		await driver.close();
		await credentials.close();
	};
	const redaction = createRedact([...patterns, credentials.find]);
	return createArchive({ namespace, driver: { ...driver, close }, redact: redaction, redacts: true, now, uptime });
}

type DriverOptions = { readonly namespace: string; readonly retention: Retention; readonly now: () => number };

async function driverFor(where: string, options: DriverOptions): Promise<Driver | undefined> {
	switch (archivePlace(where)) {
		case "none":
			return undefined;
		case "memory":
			return createMemoryDriver(options);
		case "redis": {
			const { createRedisDriver } = await import("./redis/redis-driver.ts");
			return createRedisDriver({ ...options, url: where });
		}
		case "folder":
			return createFilesDriver({ ...options, folder: path.resolve(where) });
		case "files": {
			const { platform, env: environment } = process;
			const folder = archiveFolderOf({ platform, environment, homeFolder: homedir() });
			return createFilesDriver({ ...options, folder });
		}
	}
}

function checkRetention(retention: Retention): Retention {
	const { maxAgeMs, maxBytes } = (retention ?? {}) as Partial<Retention>;
	const isAboveZero = (value: unknown) => typeof value === "number" && Number.isFinite(value) && value > 0;
	if (isAboveZero(maxAgeMs) && isAboveZero(maxBytes)) return retention;
	const expected = "Expected the archive's retention to be an age (`maxAgeMs`) and a size (`maxBytes`) above 0.";
	throw new PalimpsestError("invalid_argument", expected);
}
