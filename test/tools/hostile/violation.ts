/** The attacker has a right or an effect that the role does not give. */
export class Violation extends Error {
  /** The violated guarantee. A shortened sequence must violate the same one. */
  readonly kind: string;

  constructor(kind: string, detail: string) {
    super(`${kind}: ${detail}`);
    this.kind = kind;
  }
}
