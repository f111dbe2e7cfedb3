/** The attacker has, or has done, what the role does not give. */
export class Violation extends Error {
  /** Which promise is broken: what a shorter sequence has to break, too. */
  readonly kind: string;

  constructor(kind: string, detail: string) {
    super(`${kind}: ${detail}`);
    this.kind = kind;
  }
}
