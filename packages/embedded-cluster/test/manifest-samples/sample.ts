/** An object of a custom resource, and the answer of an API server. */
export interface Sample {
  it: string;
  object: SampleObject;
  /** Texts of the API server (1.36), except for the names of formats in errors about a type; empty if it accepts the object. */
  causes: string[];
  /** Object that this one updates. */
  old: SampleObject | undefined;
}

export interface SampleObject {
  metadata: { name: string };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

export const sample = (it: string, object: SampleObject, causes: string[] = [], old?: SampleObject): Sample => ({
  it,
  object,
  causes,
  old,
});

export const BLOCKED =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
export const DIGITS = '0123456789abcdef'.repeat(4);
export const MORNING = '2026-01-01T08:00:00Z';
export const NOON = '2026-01-01T12:00:00Z';
