import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { PalimpsestError } from "../../errors.ts";
import { inFolder, putFile } from "../files/disk.ts";
import { usingPlace } from "./driver.ts";

const savedMark = "saved:";

/** Addresses of Redis, also those that are saved under a name. */
export function isRedisAddress(where: string): boolean {
	return /^(?:saved:)?rediss?:/.test(where);
}

/** An address without user, password and query. Throws PalimpsestError `invalid_argument`, which does not quote it. */
export function redisLocation(url: string): string {
	const { protocol = "", hostname = "", port = "", pathname = "", search, hash } = parsed(url) ?? {};
	// Such a character belongs to a password that is not escaped, so that its start was taken for the host.
	const isTorn = !/^\/?\d*$/.test(pathname) || `${search}${hash}`.includes("@");
	if (hostname !== "" && !isTorn) {
		return `${protocol}//${hostname}${port === "" ? "" : `:${port}`}${pathname === "/" ? "" : pathname}`;
	}
	const message =
		"Expected the address of a Redis, such as redis://127.0.0.1:6379/0 or rediss://, with USER:PASSWORD@ before the host. Write other characters than letters and digits in them as %XX.";
	throw new PalimpsestError("invalid_argument", message);
}

/**
 * How an archive is named to models, other programs and in their settings. An address with a user, a password or a query
 * becomes `saved:` and the address without them. It is a function of the address alone: every process writes the same
 * placeholder. Other names stay. Throws as `redisLocation` does.
 */
export function nameWithoutCredentials(where: string): string {
	if (!isRedisAddress(where) || where.startsWith(savedMark)) return where;
	const location = redisLocation(where);
	const { username = "", password = "", search = "", hash = "" } = parsed(where) ?? {};
	return username + password + search + hash === "" ? where : savedMark + location;
}

/** Whose address it is, and the folder of saved addresses. */
interface SavedPlace {
	readonly namespace: string;
	readonly folder: string;
}

/** Keeps an address with credentials in a file that only this user can read. Throws PalimpsestError `archive_unavailable`. */
export async function saveAddress(where: string, { namespace, folder }: SavedPlace): Promise<void> {
	const name = nameWithoutCredentials(where);
	if (name === where) return;
	const file = fileOf(name, { namespace, folder });
	const put = { file, pieces: [Buffer.from(where)], at: Date.now(), sync: false };
	await usingPlace(folder, () => inFolder(folder, () => putFile(put)), "The folder for addresses of archives");
}

/** The address that was saved under a name; other names stay. Throws PalimpsestError `archive_unavailable`. */
export function savedAddress(name: string, place: SavedPlace): string {
	if (!name.startsWith(savedMark)) return name;
	const location = redisLocation(name.slice(savedMark.length));
	const wanted = savedMark + location;
	for (const namespace of [place.namespace, "default"]) {
		try {
			const address = readFileSync(fileOf(wanted, { ...place, namespace }), "utf8");
			if (nameWithoutCredentials(address) === wanted) return address;
		} catch {
			// A file that is absent, damaged or of another user.
		}
	}
	const message = `No address is saved here for ${wanted} in the namespace ${place.namespace}. Start palimpsest proxy, launch or install here once with the whole address in --archive, its user and password included.`;
	throw new PalimpsestError("archive_unavailable", message);
}

/** Users of one Redis may each see the keys of one namespace only. The address saved for `default` serves the others too. */
function fileOf(name: string, { namespace, folder }: SavedPlace): string {
	const hash = createHash("sha256").update(JSON.stringify([name, namespace]));
	return path.join(folder, hash.digest("hex").slice(0, 32));
}

function parsed(url: string): URL | undefined {
	return URL.canParse(url) ? new URL(url) : undefined;
}
