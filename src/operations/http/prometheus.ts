import { PalimpsestError } from "../../errors.ts";

/** Loads the package for metrics, an optional one. Throws `invalid_argument`. */
export async function loadPrometheus(
	load: () => Promise<typeof import("prom-client")> = () => import("prom-client"),
): Promise<typeof import("prom-client")> {
	return load().catch((cause) => {
		const message = "Metrics need the package prom-client. Install it: npm install prom-client";
		throw new PalimpsestError("invalid_argument", message, { cause });
	});
}
