import { AskFor } from '../../app/ask';
import { person } from '../../app/session';
import { t } from '../../text/text';
import { Copy } from '../../ui/copy';
import { kubectl, shellCommand } from '../cluster/kubectl';

const right = { verb: 'list', group: 'apps', resource: 'deployments' };

/** Tells a user who may list no workloads, such as the first administrator, how to get the role view. */
export function NoWorkloads() {
  const name = person.value?.name ?? '';
  const binding = `view-${name.toLowerCase().replaceAll(/[^a-z0-9.-]+/g, '-')}`;
  // Lines that fit beside the button at each width of the card.
  const command = [kubectl('create', 'clusterrolebinding'), binding, '--clusterrole view', shellCommand(['--user', name])].join(' \\\n  ');
  return (
    <section class="card" aria-labelledby="no-workloads-title">
      <h2 id="no-workloads-title">{t('access.noWorkloads')}</h2>
      <p>{t('access.noWorkloadsHow')}</p>
      <Copy label={t('access.noWorkloadsCommand')} text={command} />
      <AskFor right={right} />
    </section>
  );
}
