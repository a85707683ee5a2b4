import type { Size } from "./edit.ts";

/**
 * Remembers the sizes of parts of a transcript for as long as these are held: they never change once they are read, so a
 * part that is met again, in this call or a later one, is not measured again by the same counter or meter.
 */
export function rememberSize<Part extends object, Meter extends object>(
	measure: (part: Part, meter: Meter) => Size,
): (part: Part, meter: Meter) => Size {
	const byMeter = new WeakMap<Meter, WeakMap<Part, Size>>();
	return (part, meter) => {
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
}
