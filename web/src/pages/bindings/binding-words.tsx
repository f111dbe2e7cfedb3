import { CircleAlert, CircleCheck, CircleSlash, Clock } from 'lucide';
import type { Schemas } from '../../api/client';
import { t } from '../../text/text';
import { Icon } from '../../ui/icon';

type Binding = Schemas['UserBinding'];

/** Users by the name that Kubernetes knows, where the controller has found it. */
export function subjectsOf({ spec, status }: Binding): string {
  const names = status?.subjectNames;
  const shown = spec.subjects.map(({ kind, name }, index) =>
    kind === 'Group' ? t('roles.group', { name }) : ((names?.length === spec.subjects.length ? names[index] : undefined) ?? name),
  );
  return shown.join(', ');
}

export function whereOf({ spec: { scope, constraint = [] } }: Binding): string {
  if (scope === 'platform') return t('roles.everywhere');
  if (scope === 'project') return t('bindings.inProjects', { names: constraint.map(({ project }) => project).join(', ') });
  return constraint.map(({ namespace }) => namespace).join(', ');
}

const shapes = { Synced: CircleCheck, Pending: Clock, Failed: CircleAlert, Expired: CircleSlash } as const;
const kinds = { Synced: 'ok', Pending: 'warn', Failed: 'bad', Expired: 'warn' } as const;

export function StateOf({ binding: { status } }: { binding: Binding }) {
  const phase = status?.phase ?? 'Pending';
  const isEarly = status?.conditions?.some(({ type, reason }) => type === 'InEffect' && reason === 'NotYetValid') === true;
  return (
    <span class={`phase ${kinds[phase]}`}>
      <Icon of={shapes[phase]} />
      <span>{t(`bindings.${isEarly ? 'NotYetValid' : phase}`)}</span>
    </span>
  );
}
