/**
 * `spec.resourceAttributes` of an access review: its schema and the checks of its selectors. RBAC does not look at selectors; they
 * are checked and echoed, and one that cannot be used is named in `status.evaluationError`.
 */
import { z } from 'zod';
import { type FieldError, forbidden, invalidValue, required } from '../../../src/api/field-error.ts';
import { labelKeyProblems, labelValueProblems } from '../../../src/api/label-syntax.ts';
import { parseFieldSelector, parseLabelSelector } from '../../../src/api/selectors.ts';
import { StatusError } from '../../../src/api/status.ts';

const text = z.string().nullish();

const requirementSchema = z.object({ key: text, operator: text, values: z.array(z.string()).nullish() });
const selectorSchema = z.object({ rawSelector: text, requirements: z.array(requirementSchema).nullish() });

export const resourceAttributesSchema = z.object({
  namespace: text,
  verb: text,
  group: text,
  version: text,
  resource: text,
  subresource: text,
  name: text,
  fieldSelector: selectorSchema.nullish(),
  labelSelector: selectorSchema.nullish(),
});

type Requirement = z.infer<typeof requirementSchema>;
type Selector = z.infer<typeof selectorSchema>;
type ResourceAttributes = z.infer<typeof resourceAttributesSchema>;

export function validateResourceAttributes({ fieldSelector, labelSelector }: ResourceAttributes, path: string): FieldError[] {
  return [
    ...(fieldSelector ? validateSelector(fieldSelector, `${path}.fieldSelector`, validateFieldKey) : []),
    ...(labelSelector ? validateSelector(labelSelector, `${path}.labelSelector`, validateLabelRequirement) : []),
  ];
}

/** What is said in `status.evaluationError`: a form that only a newer API server knows is no error, but is not looked at. */
export function ignoredSelectors({ fieldSelector, labelSelector }: ResourceAttributes): string[] {
  return [
    ...ignored(
      'fieldSelector',
      fieldSelector,
      parseFieldSelector,
      ({ operator, values }) => isSetOperator(operator) && values?.length === 1,
    ),
    ...ignored(
      'labelSelector',
      labelSelector,
      parseLabelSelector,
      ({ operator }) => isSetOperator(operator) || isPresenceOperator(operator),
    ),
  ];
}

function ignored(
  name: string,
  selector: Selector | null | undefined,
  parse: (text: string) => unknown,
  isUsable: (requirement: Requirement) => boolean,
): string[] {
  const requirements = selector?.requirements ?? [];
  const usable = requirements.filter(isUsable).length;
  if (usable === requirements.length && isReadable(parse, selector?.rawSelector ?? '')) return [];
  return [`spec.resourceAttributes.${name} ${usable ? 'partially ' : ''}ignored due to parse error`];
}

function isReadable(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return true;
  } catch (error) {
    if (error instanceof StatusError) return false;
    throw error;
  }
}

function validateSelector(
  { rawSelector, requirements }: Selector,
  path: string,
  validateRequirement: (requirement: Requirement, path: string) => FieldError[],
): FieldError[] {
  const list = requirements ?? [];
  return [
    ...(rawSelector && list.length
      ? [invalidValue(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements')]
      : []),
    ...(!rawSelector && !list.length
      ? [required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`)]
      : []),
    ...list.flatMap((requirement, at) => validateRequirement(requirement, `${path}.requirements[${at}]`)),
  ];
}

const validateFieldKey = (requirement: Requirement, path: string): FieldError[] => [
  ...(requirement.key ? [] : [required(`${path}.key`, 'must be specified')]),
  ...validateValueCount(requirement, path),
];

const validateLabelRequirement = (requirement: Requirement, path: string): FieldError[] => [
  ...validateValueCount(requirement, path),
  ...labelKeyProblems(requirement.key ?? '').map((problem) => invalidValue(`${path}.key`, requirement.key ?? '', problem)),
  ...(requirement.values ?? []).flatMap((value, at) =>
    labelValueProblems(value).map((problem) => invalidValue(`${path}.values[${at}]`, value, problem)),
  ),
];

function validateValueCount({ operator, values }: Requirement, path: string): FieldError[] {
  if (isSetOperator(operator) && !values?.length) {
    return [required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
  }
  if (isPresenceOperator(operator) && values?.length) {
    return [forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
  }
  return [];
}

const isSetOperator = (operator: Requirement['operator']) => operator === 'In' || operator === 'NotIn';
const isPresenceOperator = (operator: Requirement['operator']) => operator === 'Exists' || operator === 'DoesNotExist';
