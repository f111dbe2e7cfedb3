/** An object of a custom resource of ours, and what an API server answers. */
export interface Sample {
  it: string;
  object: SampleObject;
  /** The API server's own words (1.36), but for the names of formats in errors about a type; none where it accepts. */
  causes: string[];
  /** The object is an update of this one. */
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
