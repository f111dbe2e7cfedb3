import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { dateTime, relative, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty } from '../../ui/state';
import { toast } from '../../ui/toast';

type Session = Schemas['Session'];

interface SessionListProps {
  /** Whose; without it the caller's own. */
  user?: string;
  mayEnd: boolean;
}

/** The present device first. */
export function SessionList({ user, mayEnd }: SessionListProps) {
  const ending = useSignal<Session | undefined>(undefined);
  const load = useLoad(`sessions/${user ?? ''}`, (signal) =>
    bodyOf(api.GET('/auth/v1/sessions', { params: { query: { limit: 200, ...(user && { user }) } }, signal })),
  );
  async function end({ metadata }: Session): Promise<void> {
    await api.DELETE('/auth/v1/sessions/{name}', { params: { path: { name: metadata.name } } });
    await refetch('sessions/');
    toast('ok', t('sessions.ended'));
    ending.value = undefined;
  }
  return (
    <>
      <Loaded load={load}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('sessions.none')} />
          ) : (
            <PlainTable
              label={t('sessions.title')}
              rows={[...items].sort((one, other) => Number(other.current === true) - Number(one.current === true))}
              idOf={({ metadata }) => metadata.name}
              columns={[
                {
                  title: t('sessions.device'),
                  cell: ({ spec, current }: Session) => (
                    <>
                      <span class="strong">{deviceOf(spec.userAgent)}</span> {current && <span class="chip">{t('sessions.this')}</span>}
                    </>
                  ),
                },
                { title: t('users.source'), cell: ({ spec }) => spec.source },
                {
                  title: t('sessions.began'),
                  cell: ({ spec }) => <span title={dateTime(spec.createdAt)}>{relative(spec.createdAt)}</span>,
                },
                { title: t('sessions.ends'), cell: ({ spec }) => dateTime(spec.idleExpiration ?? spec.expiration) },
                {
                  title: '',
                  cell: (session) =>
                    mayEnd &&
                    !session.current && (
                      <Button
                        kind="quiet"
                        onClick={() => {
                          ending.value = session;
                        }}
                      >
                        {t('sessions.end')}
                      </Button>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {ending.value && (
        <Confirm
          title={t('sessions.endThis')}
          onClose={() => {
            ending.value = undefined;
          }}
          onConfirm={() => (ending.value ? end(ending.value) : Promise.resolve())}
        >
          <p>{deviceOf(ending.value.spec.userAgent)}</p>
        </Confirm>
      )}
    </>
  );
}

const browsers = [
  ['Edge', /Edg\//],
  ['Firefox', /Firefox\//],
  ['Chrome', /Chrome\//],
  ['Safari', /Safari\//],
] as const;
const systems = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const;

/** `Firefox, Linux`; what is not known is shown as it was told. */
function deviceOf(userAgent: string | undefined): string {
  if (!userAgent) return t('sessions.unknown');
  const [browser, system] = [browsers, systems].map((list) => list.find(([, pattern]) => pattern.test(userAgent))?.[0]);
  return [browser, system].filter(Boolean).join(', ') || userAgent;
}
