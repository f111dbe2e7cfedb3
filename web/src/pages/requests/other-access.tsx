import { api, bodyOf } from '../../api/client';
import { useLoad } from '../../api/load';
import { type AccessRequest, placeOf } from '../../app/own-requests';
import { may, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { dateTime, t } from '../../text/text';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';

const limit = 50;

/** Other access that the requester has for a while, as far as the caller sees its requests; and the way to the requester's roles. */
export function OtherAccess({ request: { metadata, spec } }: { request: AccessRequest }) {
  const userRight = { verb: 'get', resource: 'users', name: spec.record };
  useRights([userRight]);
  const query = { fieldSelector: `spec.record=${spec.record}`, filterBy: ['phase,Active,phase,Scheduled'], limit };
  const load = useLoad(`requests/of/${spec.record}`, (signal) => bodyOf(api.GET('/auth/v1/accessrequests', { params: { query }, signal })));
  return (
    <>
      <Loaded load={load}>
        {({ items }) => {
          const others = items.filter((one) => one.metadata.uid !== metadata.uid);
          if (others.length === 0) return <p class="muted">{t('requests.noOther')}</p>;
          return (
            <PlainTable
              label={t('requests.other')}
              rows={others}
              idOf={(one) => one.metadata.uid}
              columns={[
                { title: t('roles.role'), cell: (one) => <a href={href(`/requests/${one.metadata.name}`)}>{one.spec.roleRef}</a> },
                { title: t('roles.where'), cell: placeOf },
                { title: t('requests.ends'), cell: ({ status }) => status?.until && dateTime(status.until) },
              ]}
            />
          );
        }}
      </Loaded>
      {may(userRight) && (
        <p>
          <a href={href(`/users/${spec.record}/roles`)}>{t('requests.roles')}</a>
        </p>
      )}
    </>
  );
}
