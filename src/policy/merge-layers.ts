import type { PolicyLayer } from "./policy-layer.ts";

/** Lays one layer over another, field by field. Lists are replaced whole; neither argument is changed. */
export function mergeLayers(below: PolicyLayer, above: PolicyLayer): PolicyLayer {
	return mergeTables(below, above) as PolicyLayer;
}

function mergeTables(below: object, above: object): object {
	const merged = new Map<string, unknown>(Object.entries(below));
	for (const [key, value] of Object.entries(above)) {
		if (value === undefined) continue;
		const old = merged.get(key);
		merged.set(key, isTable(old) && isTable(value) ? mergeTables(old, value) : value);
	}
	return Object.fromEntries(merged);
}

function isTable(value: unknown): value is object {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
