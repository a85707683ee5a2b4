import { constants, existsSync } from "node:fs";
import { access } from "node:fs/promises";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Router } from "express";
import type { ArchiveLocation, ArchiveSource } from "../../archive/open.ts";
import { version } from "../../version.ts";
import { onlyMethods } from "./application.ts";

type Readiness =
	| { readonly ready: true }
	| { readonly ready: false; readonly reason: "shutting_down" | "archive_unavailable" | "archive_timeout" };

export type ReadinessCheck = ReturnType<typeof createReadiness>;

/** Checks at the same time share one probe of the archive, and no other probe starts while one hangs. */
export function createReadiness(options: {
	readonly probe?: (() => Promise<unknown>) | undefined;
	readonly patienceMilliseconds?: number | undefined;
	readonly freshMilliseconds?: number | undefined;
}) {
	const { probe, patienceMilliseconds = 2_000, freshMilliseconds = 1_000 } = options;
	let isShuttingDown = false;
	let last: { readonly found: Readiness; readonly at: number } | undefined;
	let underWay: Promise<Readiness> | undefined;

	const look = async (ask: () => Promise<unknown>): Promise<Readiness> => {
		const found = await ask().then<Readiness, Readiness>(
			() => ({ ready: true }),
			() => ({ ready: false, reason: "archive_unavailable" }),
		);
		last = { found, at: performance.now() };
		underWay = undefined;
		return found;
	};
	const lookInTime = async (): Promise<Readiness> => {
		if (!probe) return { ready: true };
		if (last && performance.now() - last.at < freshMilliseconds) return last.found;
		underWay ??= look(probe);
		const late: Readiness = { ready: false, reason: "archive_timeout" };
		return Promise.race([underWay, pause(patienceMilliseconds, late, { ref: false })]);
	};

	return {
		async current(): Promise<Readiness> {
			const found = isShuttingDown ? undefined : await lookInTime();
			return isShuttingDown || !found ? { ready: false, reason: "shutting_down" } : found;
		},
		beginShutdown(): void {
			isShuttingDown = true;
		},
	};
}

/** One look-up, and for a folder whether it can be written or made. It stores nothing. */
export function probeArchive({ source, location }: { source: ArchiveSource; location: ArchiveLocation }) {
	return async (): Promise<void> => {
		const place = await source.use(async (archive) => {
			// No call has this id.
			await archive.find("palimpsest:readiness");
			return archive.location;
		});
		const isFolder = location.where !== "memory" && !/^rediss?:/.test(location.where);
		if (isFolder) await access(nearestFolder(path.resolve(place)), constants.W_OK);
	};
}

function nearestFolder(folder: string): string {
	const above = path.dirname(folder);
	return above === folder || existsSync(folder) ? folder : nearestFolder(above);
}

export function healthRoutes(readiness: ReadinessCheck): Router {
	const router = Router();
	router.all("/healthz", onlyMethods("GET", "HEAD"), (_request, response) => {
		response.json({ status: "ok", version });
	});
	router.all("/readyz", onlyMethods("GET", "HEAD"), async (_request, response) => {
		const found = await readiness.current();
		if (found.ready) response.json({ status: "ready" });
		else response.status(503).set("Retry-After", "5").json({ status: "not_ready", reason: found.reason });
	});
	return router;
}
