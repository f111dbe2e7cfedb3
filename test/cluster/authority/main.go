// Answers of the libraries that kubectl and kube-controller-manager use, for tests that compare ours with them.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	podresources "k8s.io/component-helpers/resource"
	"k8s.io/kubectl/pkg/polymorphichelpers"
)

type question struct {
	// One of `schedule`, `age`, `quantity`, `rollout` and `amounts`.
	About   string                 `json:"about"`
	Text    string                 `json:"text"`
	After   time.Time              `json:"after"`
	Zone    string                 `json:"zone"`
	Seconds float64                `json:"seconds"`
	Object  map[string]interface{} `json:"object"`
}

type answer struct {
	Value string `json:"value"`
	Done  bool   `json:"done"`
	Error string `json:"error"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answers := make([]answer, 0, len(questions))
	for _, one := range questions {
		found, err := one.answer()
		if err != nil {
			found.Error = err.Error()
		}
		answers = append(answers, found)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (q question) answer() (answer, error) {
	switch q.About {
	case "schedule":
		return q.nextRun()
	case "age":
		return answer{Value: duration.HumanDuration(time.Duration(q.Seconds * float64(time.Second)))}, nil
	case "quantity":
		quantity, err := resource.ParseQuantity(q.Text)
		if err != nil {
			return answer{}, err
		}
		return answer{Value: quantity.AsDec().String()}, nil
	case "rollout":
		return q.rolloutStatus()
	case "amounts":
		return q.podAmounts()
	}
	return answer{}, fmt.Errorf("unknown question %q", q.About)
}

// The controller reads the schedule in the time zone of the CronJob.
func (q question) nextRun() (answer, error) {
	zone, err := time.LoadLocation(q.Zone)
	if err != nil {
		return answer{}, err
	}
	schedule, err := cron.ParseStandard(q.Text)
	if err != nil {
		return answer{}, err
	}
	next := schedule.Next(q.After.In(zone))
	if next.IsZero() {
		return answer{}, nil
	}
	return answer{Value: next.UTC().Format(time.RFC3339)}, nil
}

func (q question) rolloutStatus() (answer, error) {
	object := &unstructured.Unstructured{Object: q.Object}
	viewer, err := polymorphichelpers.StatusViewerFor(object.GroupVersionKind().GroupKind())
	if err != nil {
		return answer{}, err
	}
	message, done, err := viewer.Status(object, 0)
	return answer{Value: message, Done: done}, err
}

// The scheduler and the rows of `kubectl describe node` count a pod that is being resized by its status.
func (q question) podAmounts() (answer, error) {
	text, err := json.Marshal(q.Object)
	if err != nil {
		return answer{}, err
	}
	var pod v1.Pod
	if err := json.Unmarshal(text, &pod); err != nil {
		return answer{}, err
	}
	options := podresources.PodResourcesOptions{UseStatusResources: true}
	amounts := map[string]map[v1.ResourceName]string{}
	for bound, list := range map[string]v1.ResourceList{
		"requests": podresources.PodRequests(&pod, options),
		"limits":   podresources.PodLimits(&pod, options),
	} {
		amounts[bound] = map[v1.ResourceName]string{}
		for name, quantity := range list {
			amounts[bound][name] = quantity.AsDec().String()
		}
	}
	value, err := json.Marshal(amounts)
	return answer{Value: string(value)}, err
}
