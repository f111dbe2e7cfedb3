import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { t } from '../../text/text';
import { Dialog } from '../../ui/dialog';
import { Form } from '../../ui/form';
import { WayOut } from '../../ui/loaded';
import { Failure, Notice, Skeleton } from '../../ui/state';
import { toast } from '../../ui/toast';

type Result = Schemas['UserSyncResult'];

const synchronise = (dryRun: boolean) => bodyOf(api.PUT('/auth/v1/users/sync', { body: { dryRun } })) as Promise<Result>;

const sum = (result: Result, what: 'created' | 'updated' | 'invalidated' | 'restored' | 'linked' | 'failed') =>
  result.connectors.reduce((total, connector) => total + connector[what], 0);

/** Synchronises with the directories. A dry run shows the changes first. */
export function Sync({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const load = useLoad('sync/try', () => synchronise(true));
  const result = load.isBusy.value ? undefined : load.data.value;
  async function run(): Promise<void> {
    await synchronise(false);
    toast('ok', t('sync.done'));
    onClose();
    onDone();
  }
  const [added, gone] = result ? [sum(result, 'created') + sum(result, 'linked'), sum(result, 'invalidated')] : [0, 0];
  const changed = result ? sum(result, 'updated') + sum(result, 'restored') : 0;
  return (
    <Dialog title={t('sync.title')} onClose={onClose}>
      {load.error.value ? (
        <>
          <Failure problem={load.error.value} onRetry={() => void load.reload()} />
          <WayOut />
        </>
      ) : result === undefined ? (
        <>
          <p class="muted">{t('sync.trying')}</p>
          <Skeleton rows={2} />
          <WayOut />
        </>
      ) : (
        <Form action={t('sync.do', { added, changed, gone })} onSubmit={run} onCancel={onClose}>
          <ul>
            {result.connectors.map((connector) => (
              <li key={connector.connector_id}>
                <strong>{connector.connector_id}</strong>: {t('sync.fetched', { count: connector.fetched })}
                {connector.errors.length + connector.warnings.length > 0 && (
                  <Notice kind="warn">
                    {[...connector.errors, ...connector.warnings].map(({ message, entry }) => (
                      <p key={`${entry}${message}`}>{[entry, message].filter(Boolean).join(': ')}</p>
                    ))}
                  </Notice>
                )}
              </li>
            ))}
          </ul>
          <p class="muted">{t('sync.what')}</p>
        </Form>
      )}
    </Dialog>
  );
}
