// Calls of client-go through the console: list, watch, informer, create, update, patch, server-side apply, delete, logs and exec.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
)

const (
	namespace = "default"
	name      = "from-client-go"
	timeout   = time.Minute
)

var selected = "metadata.name=" + name

// Lines of a report, in the order of the calls.
var report []string

func note(format string, values ...any) { report = append(report, fmt.Sprintf(format, values...)) }

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "after %q: %v\n", report, err)
		os.Exit(1)
	}
}

// reasonOf names the error of a call by the predicates that controllers use.
func reasonOf(err error) string {
	switch {
	case err == nil:
		return "none"
	case apierrors.IsForbidden(err):
		return "Forbidden"
	case apierrors.IsNotFound(err):
		return "NotFound"
	case apierrors.IsConflict(err):
		return "Conflict"
	case apierrors.IsAlreadyExists(err):
		return "AlreadyExists"
	case apierrors.IsInvalid(err):
		return "Invalid"
	}
	return err.Error()
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	config := must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		negotiated := rest.CopyConfig(config)
		negotiated.ContentType = contentType
		negotiated.AcceptContentTypes = contentType + ",application/json"
		note("%s", contentType)
		changes(ctx, kubernetes.NewForConfigOrDie(negotiated))
	}
	client := kubernetes.NewForConfigOrDie(config)
	refusals(ctx, client)
	pod(ctx, client, config)
	check(json.NewEncoder(os.Stdout).Encode(report))
}

func changes(ctx context.Context, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps(namespace)
	list := must(maps.List(ctx, meta.ListOptions{FieldSelector: selected}))
	note("list: %d", len(list.Items))
	watched := must(maps.Watch(ctx, meta.ListOptions{FieldSelector: selected, ResourceVersion: list.ResourceVersion}))
	defer watched.Stop()
	stop, events := inform(ctx, client)
	defer stop()

	made := must(maps.Create(ctx, mapOf("red"), meta.CreateOptions{FieldManager: "creator"}))
	follow(watched, events)
	_, err := maps.Create(ctx, mapOf("red"), meta.CreateOptions{})
	note("create again: %s", reasonOf(err))

	changed := made.DeepCopy()
	changed.Data["color"] = "green"
	must(maps.Update(ctx, changed, meta.UpdateOptions{}))
	follow(watched, events)
	_, err = maps.Update(ctx, changed, meta.UpdateOptions{})
	note("update of an old version: %s", reasonOf(err))

	merge, replace := `{"data": {"color": "blue"}}`, `[{"op": "replace", "path": "/data/color", "value": "grey"}]`
	must(maps.Patch(ctx, name, types.StrategicMergePatchType, []byte(merge), meta.PatchOptions{}))
	follow(watched, events)
	must(maps.Patch(ctx, name, types.JSONPatchType, []byte(replace), meta.PatchOptions{}))
	follow(watched, events)

	wanted := applycore.ConfigMap(name, namespace).WithData(map[string]string{"color": "black"})
	_, err = maps.Apply(ctx, wanted, meta.ApplyOptions{FieldManager: "applier"})
	note("apply: %s", reasonOf(err))
	applied := must(maps.Apply(ctx, wanted, meta.ApplyOptions{FieldManager: "applier", Force: true}))
	follow(watched, events)
	for _, entry := range applied.ManagedFields {
		if entry.Operation == meta.ManagedFieldsOperationApply {
			note("applied by: %s", entry.Manager)
		}
	}

	other, now, policy := types.UID("other"), int64(0), meta.DeletePropagationBackground
	err = maps.Delete(ctx, name, meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &other}})
	note("delete of another: %s", reasonOf(err))
	check(maps.Delete(ctx, name, meta.DeleteOptions{
		GracePeriodSeconds: &now, PropagationPolicy: &policy, Preconditions: &meta.Preconditions{UID: &made.UID},
	}))
	follow(watched, events)
	_, err = maps.Get(ctx, name, meta.GetOptions{})
	note("get: %s", reasonOf(err))
}

func mapOf(color string) *core.ConfigMap {
	return &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name, Namespace: namespace}, Data: map[string]string{"color": color}}
}

func inform(ctx context.Context, client kubernetes.Interface) (context.CancelFunc, <-chan string) {
	ctx, stop := context.WithCancel(ctx)
	events := make(chan string, 16)
	send := func(kind string) func(any) {
		return func(object any) { events <- kind + " " + object.(*core.ConfigMap).Data["color"] }
	}
	added, updated, deleted := send("add"), send("update"), send("delete")
	informer := informers.NewFilteredConfigMapInformer(client, namespace, 0, cache.Indexers{}, func(options *meta.ListOptions) {
		options.FieldSelector = selected
	})
	must(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    added,
		UpdateFunc: func(_, object any) { updated(object) },
		DeleteFunc: deleted,
	}))
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		check(ctx.Err())
	}
	return stop, events
}

// follow waits for the next event of the watch and of the informer.
func follow(watched watch.Interface, informed <-chan string) {
	deadline := time.After(timeout)
	select {
	case event := <-watched.ResultChan():
		object, isMap := event.Object.(*core.ConfigMap)
		if !isMap {
			check(apierrors.FromObject(event.Object))
		}
		note("watch: %s %s", event.Type, object.Data["color"])
	case <-deadline:
		check(context.DeadlineExceeded)
	}
	select {
	case event := <-informed:
		note("informer: %s", event)
	case <-deadline:
		check(context.DeadlineExceeded)
	}
}

func refusals(ctx context.Context, client kubernetes.Interface) {
	_, err := client.CoreV1().Nodes().List(ctx, meta.ListOptions{})
	note("nodes: %s", reasonOf(err))
	if status, is := err.(apierrors.APIStatus); is {
		note("refused: %s %d", status.Status().Details.Kind, status.Status().Code)
	}
	invalid := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "Not_A_Name"}}
	_, err = client.CoreV1().ConfigMaps(namespace).Create(ctx, invalid, meta.CreateOptions{})
	cause, _ := apierrors.StatusCause(err, meta.CauseTypeFieldValueInvalid)
	note("name: %s of %s", reasonOf(err), cause.Field)
}

func pod(ctx context.Context, client kubernetes.Interface, config *rest.Config) {
	logs := must(client.CoreV1().Pods(namespace).GetLogs("shell", &core.PodLogOptions{}).Stream(ctx))
	note("logs: %t", len(must(io.ReadAll(logs))) > 0)
	check(logs.Close())
	address := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name("shell").SubResource("exec").
		VersionedParams(&core.PodExecOptions{Command: []string{"echo", "hello"}, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	// The embedded cluster has no SPDY, which kubectl falls back to.
	executor := must(remotecommand.NewWebSocketExecutor(config, "GET", address.String()))
	// One buffer for both streams loses bytes, because two goroutines write at the same time.
	var output, failures bytes.Buffer
	check(executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &output, Stderr: &failures}))
	note("exec: %s", bytes.TrimSpace(output.Bytes()))
}
