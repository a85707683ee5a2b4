import type { Size } from "./edit.ts";

/** Measures parts, and knows which of them were measured before. */
export interface RememberedSize<Part extends object, Meter extends object> {
	(part: Part, meter: Meter): Size;
	readonly isKnown: (part: Part, meter: Meter) => boolean;
}

/**
 * Remembers the sizes of parts of a transcript for as long as these are held: they never change once they are read, so a
 * part that is met again, in this call or a later one, is not measured again by the same counter or meter.
 */
export function rememberSize<Part extends object, Meter extends object>(
	measure: (part: Part, meter: Meter) => Size,
): RememberedSize<Part, Meter> {
	const byMeter = new WeakMap<Meter, WeakMap<Part, Size>>();
	const remembered = (part: Part, meter: Meter) => {
		let sizes = byMeter.get(meter);
		if (!sizes) {
			sizes = new WeakMap();
			byMeter.set(meter, sizes);
		}
		let size = sizes.get(part);
		if (!size) {
			size = measure(part, meter);
			sizes.set(part, size);
		}
		return size;
	};
	const isKnown = (part: Part, meter: Meter) => byMeter.get(meter)?.has(part) ?? false;
	return Object.assign(remembered, { isKnown });
}
