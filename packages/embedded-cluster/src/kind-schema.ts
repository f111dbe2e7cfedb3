/** Schema of a built-in kind: members as Kubernetes publishes them, and the checks of data/checks.yaml. */
import { checkKind } from './kind-checks.ts';
import { decodeKind, type Refusal } from './kind-decoding.ts';
import type { Shape } from './kind-shapes.ts';
import type { CompiledSchema } from './schema.ts';

/** A member has a value of another type than its own. */
export class WrongType extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

export const kindSchema = (shape: Shape): CompiledSchema => ({
  /** @throws WrongType */
  prune(object) {
    const { unknownFields, refusal } = decodeKind(shape, object);
    if (refusal !== undefined) throw new WrongType(refusal);
    return unknownFields;
  },
  // Defaults depend on other members: `data/kinds.yaml` and `prepare` have them.
  applyDefaults() {},
  validate: (object, old) => checkKind(shape, object, old),
});
