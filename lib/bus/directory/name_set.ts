/**
 * The set of names that a subscriber has seen, small enough to remember a million of them.
 *
 * A JavaScript `Set` of a million names takes well over 100 MB. Here a name is twelve bytes: its second, its nanosecond, and a
 * hash of the whole. Two names are taken for one only if they carry the same nanosecond *and* their 32-bit hashes agree, so a
 * publisher whose clock never repeats itself cannot run into it at all.
 *
 * @module
 */

/** How many numbers make an entry: the second, the nanosecond plus one (so that 0 is an empty slot), the hash. */
const ENTRY = 3;

/** A set of the names of events: a hash table with linear probing over one typed array. */
export class NameSet {
  #entries = new Uint32Array(ENTRY * 64);
  #size = 0;
  readonly #key = new Uint32Array(ENTRY);

  /** How many names are in it. */
  get size(): number {
    return this.#size;
  }

  /** Whether a name is in it. */
  has(name: string): boolean {
    this.#read(name);
    return this.#entries[this.#find() + 1] !== 0;
  }

  /**
   * Puts a name into it.
   *
   * @returns whether it was not in it before
   */
  add(name: string): boolean {
    this.#read(name);
    const slot = this.#find();
    if (this.#entries[slot + 1] !== 0) return false;
    this.#entries.set(this.#key, slot);
    this.#size++;
    if (this.#size * ENTRY * 3 > this.#entries.length * 2) this.#grow();
    return true;
  }

  /** Makes the key of a name that `parseName` accepts. */
  #read(name: string): void {
    const days = ((twoDigits(name, 0) * 100 + twoDigits(name, 2)) * 12 + twoDigits(name, 5)) * 31 + twoDigits(name, 8);
    const second = ((days * 24 + twoDigits(name, 11)) * 60 + twoDigits(name, 14)) * 61 + twoDigits(name, 17);
    let nanosecond = 0;
    for (let i = 20, scale = 1e8; i < 29 && isDigit(name.charCodeAt(i)); i++, scale /= 10) {
      nanosecond += (name.charCodeAt(i) - ZERO) * scale;
    }
    let hash = 0;
    for (let i = 0; i < name.length; i++) {
      hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
      hash ^= hash >>> 15;
    }
    this.#key[0] = second % 2 ** 32;
    this.#key[1] = nanosecond + 1;
    this.#key[2] = hash;
  }

  /** Where the key's entry begins: its own if it is in the table, else the empty slot that it would go into. */
  #find(): number {
    const [second, nanosecond, hash] = this.#key;
    const entries = this.#entries;
    const slots = entries.length / ENTRY;
    // The number of slots is a power of two, so the mask wraps around the end of the table.
    let slot = (hash ^ Math.imul(nanosecond, 0x9e3779b1) ^ second) & (slots - 1);
    for (;; slot = (slot + 1) & (slots - 1)) {
      const at = slot * ENTRY;
      if (entries[at + 1] === 0) return at;
      if (entries[at + 1] === nanosecond && entries[at + 2] === hash && entries[at] === second) return at;
    }
  }

  #grow(): void {
    const old = this.#entries;
    this.#entries = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += ENTRY) {
      if (old[at + 1] === 0) continue;
      this.#key.set(old.subarray(at, at + ENTRY));
      this.#entries.set(this.#key, this.#find());
    }
  }
}

const ZERO = 48;

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}

function twoDigits(name: string, at: number): number {
  return (name.charCodeAt(at) - ZERO) * 10 + name.charCodeAt(at + 1) - ZERO;
}
