/**
 * The set of names that a subscriber has seen, small enough to remember a million of them.
 *
 * A JavaScript `Set` of a million names takes well over 100 MB. Here a name is 96 bits of a hash, so that the chance that any
 * two of a million are taken for one is less than one in 10^16; and nobody can look for two such names beforehand, since
 * the hash begins elsewhere in each process.
 *
 * @module
 */

/** How many numbers make an entry. The first is never 0, which marks an empty slot. */
const ENTRY = 3;

/** A power of two, as every number of slots. */
const MIN_SLOTS = 64;

const SEEDS = crypto.getRandomValues(new Uint32Array(ENTRY));

/** A set of the names of events: a hash table with linear probing over one typed array. */
export class NameSet {
  #entries: Uint32Array;
  #size = 0;
  readonly #key = new Uint32Array(ENTRY);

  /** @param expected how many names there will be, if that is known: a table that has to grow leaves the smaller ones behind */
  constructor(expected = 0) {
    let slots = MIN_SLOTS;
    while (isFull(expected, slots)) slots *= 2;
    this.#entries = new Uint32Array(ENTRY * slots);
  }

  /** How many names are in it. */
  get size(): number {
    return this.#size;
  }

  /** Whether a name is in it. */
  has(name: string): boolean {
    this.#read(name);
    return this.#entries[this.#find()] !== 0;
  }

  /**
   * Puts a name into it.
   *
   * @returns whether it was not in it before
   */
  add(name: string): boolean {
    this.#read(name);
    const slot = this.#find();
    if (this.#entries[slot] !== 0) return false;
    this.#entries.set(this.#key, slot);
    this.#size++;
    if (isFull(this.#size, this.#entries.length / ENTRY)) this.#grow();
    return true;
  }

  /** Makes the key of a name. */
  #read(name: string): void {
    let [a, b, c] = SEEDS;
    for (let i = 0; i < name.length; i++) {
      const code = name.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      a ^= a >>> 15;
      b = Math.imul(b ^ code, 0x85ebca6b);
      b ^= b >>> 13;
      c = Math.imul(c ^ code, 0xc2b2ae35);
      c ^= c >>> 16;
    }
    this.#key[0] = a === 0 ? 1 : a;
    this.#key[1] = b;
    this.#key[2] = c;
  }

  /** Where the key's entry begins: its own if it is in the table, else the empty slot that it would go into. */
  #find(): number {
    const [a, b, c] = this.#key;
    const entries = this.#entries;
    const slots = entries.length / ENTRY;
    // The number of slots is a power of two, so the mask wraps around the end of the table.
    for (let slot = (a ^ b ^ c) & (slots - 1);; slot = (slot + 1) & (slots - 1)) {
      const at = slot * ENTRY;
      if (entries[at] === 0 || (entries[at] === a && entries[at + 1] === b && entries[at + 2] === c)) return at;
    }
  }

  #grow(): void {
    const old = this.#entries;
    this.#entries = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += ENTRY) {
      if (old[at] === 0) continue;
      this.#key.set(old.subarray(at, at + ENTRY));
      this.#entries.set(this.#key, this.#find());
    }
  }
}

/** Whether so many names are too many for the search for one of them to stay short. */
function isFull(names: number, slots: number): boolean {
  return names * 3 > slots * 2;
}
