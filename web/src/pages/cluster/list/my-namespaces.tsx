import { type Kind, pageOf } from '../../../api/kinds';
import { AskFor } from '../../../app/ask';
import { useNamespaces } from '../../../app/namespace';
import type { Right } from '../../../app/rights';
import { href } from '../../../app/router';
import { Needed } from '../../../app/why';
import { t } from '../../../text/text';
import { Loaded } from '../../../ui/loaded';
import { RefusedState } from '../../../ui/state';

interface MyNamespacesProps {
  kind: Kind;
  right: Right;
  namespace: string | undefined;
  /** Path of the page of a namespace; by default the list of the kind. */
  pageIn?: (namespace: string) => string;
}

/** Shown instead of a list that the caller may not see: the namespaces in which the list is allowed. */
export function MyNamespaces({ kind, right, namespace, pageIn = (name) => pageOf(kind, { namespace: name }) }: MyNamespacesProps) {
  const refusal = (
    <RefusedState>
      <p class="muted measure">
        <Needed right={right} />
      </p>
      <AskFor right={right} />
    </RefusedState>
  );
  if (!kind.isNamespaced) return refusal;
  return <Elsewhere {...{ kind, namespace, pageIn, refusal }} />;
}

interface ElsewhereProps extends Required<Pick<MyNamespacesProps, 'kind' | 'namespace' | 'pageIn'>> {
  refusal: preact.ComponentChild;
}

function Elsewhere({ kind, namespace, pageIn, refusal }: ElsewhereProps) {
  const load = useNamespaces(kind);
  return (
    <Loaded load={load}>
      {({ items }) =>
        items.length === 0 ? (
          refusal
        ) : (
          <>
            {namespace !== undefined && refusal}
            <section class="card" aria-labelledby="mine-title">
              <h2 id="mine-title">{t('cluster.mine')}</h2>
              <p class="muted measure">{t('cluster.mineWhat', { kind: kind.title })}</p>
              <ul class="links">
                {items.map(({ metadata: { name } }) => (
                  <li key={name}>
                    <a href={href(pageIn(name))}>{name}</a>
                  </li>
                ))}
              </ul>
            </section>
          </>
        )
      }
    </Loaded>
  );
}
