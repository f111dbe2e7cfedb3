/**
 * A schema with every keyword that the embedded cluster supports, and values with the answers of an API server (1.36): its texts, or none
 * if it accepts the value. Each value is `spec` of an object called `gauge`.
 */
export const gaugeSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        text: { type: 'string', minLength: 2, maxLength: 3 },
        code: { type: 'string', pattern: '^[a-z]+$' },
        choice: { type: 'string', enum: ['a', 'b'] },
        number: { type: 'number', minimum: 0, maximum: 2.5 },
        whole: { type: 'integer', maximum: 9 },
        small: { type: 'integer', format: 'int32' },
        big: { type: 'integer', format: 'int64' },
        flag: { type: 'boolean', default: true },
        time: { type: 'string', format: 'date-time' },
        maybe: { type: 'string', nullable: true },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { known: { type: 'string' } } },
        counts: { type: 'object', additionalProperties: { type: 'integer', minimum: 0 } },
        tags: { type: 'array', 'x-kubernetes-list-type': 'set', maxItems: 3, items: { type: 'string' } },
        parts: {
          type: 'array',
          maxItems: 3,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string', maxLength: 10 },
              size: {
                type: 'integer',
                'x-kubernetes-validations': [{ rule: 'self >= oldSelf', message: 'never shrinks' }],
              },
            },
          },
        },
        plain: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer', default: 1 } } } },
        start: { type: 'string', format: 'date-time' },
        nested: {
          type: 'object',
          required: ['low'],
          properties: { low: { type: 'integer' }, high: { type: 'integer' } },
          'x-kubernetes-validations': [
            {
              rule: '!has(self.high) || self.low <= self.high',
              message: 'below',
              fieldPath: '.high',
            },
          ],
        },
        namespace: { type: 'string', maxLength: 10 },
        'dashed-name': { type: 'string', maxLength: 10 },
      },
      'x-kubernetes-validations': [
        { rule: "!has(self.namespace) || self.namespace != 'no'", message: 'by its own name' },
        { rule: "!has(self.tags) || !('bad' in self.tags)" },
        {
          rule: '!has(self.start) || !has(self.time) || self.start < self.time',
          message: 'start before time',
        },
        { rule: "!has(self.counts) || self.counts.all(k, k.startsWith('n'))", message: 'names with n' },
        { rule: '!has(self.parts) || self.parts.exists(p, p.size > 0)', message: 'one part with a size' },
      ],
    },
  },
};

const BLOCKED =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

export const gaugeSamples: { it: string; spec: Record<string, unknown>; old?: Record<string, unknown>; causes: string[] }[] = [
  { it: 'accepts nothing at all', spec: {}, causes: [] },
  { it: 'counts characters, not bytes', spec: { text: 'äöü' }, causes: [] },
  {
    it: 'refuses a text that is too short',
    spec: { text: 'x' },
    causes: ['spec.text: Invalid value: "x": spec.text in body should be at least 2 chars long'],
  },
  { it: 'refuses a text that is too long', spec: { text: 'xxxx' }, causes: ['spec.text: Too long: may not be more than 3 bytes', BLOCKED] },
  {
    it: 'refuses values that do not match',
    spec: { code: 'a"<b>' },
    causes: [`spec.code: Invalid value: "a\\"<b>": spec.code in body should match '^[a-z]+$'`],
  },
  {
    it: 'refuses a value outside of the choices',
    spec: { choice: 'c' },
    causes: ['spec.choice: Unsupported value: "c": supported values: "a", "b"', BLOCKED],
  },
  {
    it: 'refuses more than the maximum',
    spec: { number: 2.75 },
    causes: ['spec.number: Invalid value: 2.75: spec.number in body should be less than or equal to 2.5'],
  },
  {
    it: 'refuses incomplete values',
    spec: { whole: 1.5 },
    causes: ['spec.whole: Invalid value: "number": spec.whole in body must be of type integer: "number"', BLOCKED],
  },
  {
    it: 'refuses values outside the format',
    spec: { small: 2147483648 },
    causes: ['spec.small: Invalid value: 2147483648: spec.small in body should be less than or equal to 2147483647'],
  },
  {
    it: 'refuses a boolean as number',
    spec: { number: false },
    causes: ['spec.number: Invalid value: "boolean": spec.number in body must be of type number: "boolean"', BLOCKED],
  },
  { it: 'accepts null where it may be', spec: { maybe: null }, causes: [] },
  { it: 'accepts times with fractions and zones', spec: { time: '2026-01-01T00:00:00.123456+02:00' }, causes: [] },
  {
    it: 'refuses an hour that does not exist',
    spec: { time: '2026-01-01T24:00:00Z' },
    causes: [
      'spec.time: Invalid value: "2026-01-01T24:00:00Z": spec.time in body must be of type date-time: "2026-01-01T24:00:00Z"',
      BLOCKED,
    ],
  },
  {
    it: 'refuses a known field of an open object',
    spec: { open: { known: 1, other: 1 } },
    causes: ['spec.open.known: Invalid value: "integer": spec.open.known in body must be of type string: "integer"', BLOCKED],
  },
  {
    it: 'refuses values of a map',
    spec: { counts: { n: -1 } },
    causes: ['spec.counts.n: Invalid value: -1: spec.counts.n in body should be greater than or equal to 0'],
  },
  { it: 'runs rules on the keys of a map', spec: { counts: { x: 1 } }, causes: ['spec: Invalid value: names with n'] },
  {
    it: 'names the second of equal items only',
    spec: { tags: ['a', 'a', 'a'] },
    causes: ['spec.tags[1]: Duplicate value: "a"'],
  },
  {
    it: 'says the rule where there is no message',
    spec: { tags: ['bad'] },
    causes: [`spec: Invalid value: failed rule: !has(self.tags) || !('bad' in self.tags)`],
  },
  { it: 'knows a reserved name', spec: { namespace: 'no' }, causes: ['spec: Invalid value: by its own name'] },
  {
    it: 'points to the field of a rule',
    spec: { nested: { low: 2, high: 1 } },
    causes: ['spec.nested.high: Invalid value: below'],
  },
  {
    it: 'says what went wrong inside a rule',
    spec: { parts: [{ name: 'a' }] },
    causes: ['spec: Invalid value: "object": no such key: size evaluating rule: one part with a size'],
  },
  { it: 'does not run a transition rule on creation', spec: { parts: [{ name: 'a', size: 1 }] }, causes: [] },
  {
    it: 'finds the old item by its key',
    spec: {
      parts: [
        { name: 'b', size: 1 },
        { name: 'a', size: 2 },
      ],
    },
    old: { parts: [{ name: 'a', size: 3 }] },
    causes: ['spec.parts[1].size: Invalid value: 2: never shrinks'],
  },
];
