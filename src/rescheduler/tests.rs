//! Rounds over small clusters, built by hand.

use super::*;
use crate::commit::VerdictKind;
use crate::id::{ApplicationId, ContainerId, NodeSlot, SchedulerKey};
use crate::resource::{Calculator, ResourceVector};

/// Two leaves of 50 GiB each on nodes of 10 GiB; the first leaf uses everything in containers of
/// 1 GiB, the second wants `pending` GiB.
struct Scene {
    view: RoundInput,
    settings: Settings,
}

/// No user has a limit.
struct Unlimited;

impl LimitLookup for Unlimited {
    fn among_all(&mut self, _: usize, _: usize, _: usize) -> ResourceVector {
        gib(1 << 20)
    }
}

fn gib(amount: i64) -> ResourceVector {
    ResourceVector::of(&[amount * 1024, amount])
}

fn queue(
    path: &str,
    parent: Option<usize>,
    children: &[usize],
    part: &RoundQueuePart,
) -> RoundQueue {
    RoundQueue {
        path: path.into(),
        parent,
        children: children.to_vec(),
        priority: 0,
        preemption_disabled: false,
        intra_queue_disabled: false,
        parts: vec![*part],
        leaf: children.is_empty().then(RoundLeaf::default),
    }
}

fn part(used: i64, guaranteed: i64, pending: i64) -> RoundQueuePart {
    RoundQueuePart {
        used: gib(used),
        guaranteed: gib(guaranteed),
        maximum: gib(100),
        pending: gib(pending),
        pending_without_reserved: gib(pending),
        absolute_capacity: 0.5,
        used_capacity: 1.0,
        ..RoundQueuePart::default()
    }
}

impl Scene {
    fn new(pending: i64) -> Self {
        let queues = vec![
            queue("root", None, &[1, 2], &part(100, 100, pending)),
            queue("root.a", Some(0), &[], &part(100, 50, 0)),
            queue("root.b", Some(0), &[], &part(0, 50, pending)),
        ];
        let mut scene = Self {
            view: RoundInput {
                calculator: Calculator::MemoryOnly { types: 2 },
                cluster: gib(100),
                minimum: gib(1),
                partitions: vec![gib(100)],
                queues,
                users: vec![RoundUser {
                    used: vec![gib(100)],
                }],
                apps: Vec::new(),
                nodes: Vec::new(),
                containers: Vec::new(),
            },
            settings: Settings {
                enabled: true,
                natural_termination_factor: 1.0,
                total_per_round: 1.0,
                ..Settings::default()
            },
        };
        scene.app(1);
        for _ in 0..10 {
            let node = scene.node();
            (0..10).for_each(|_| scene.container(0, node));
        }
        scene
    }

    fn app(&mut self, queue: usize) -> usize {
        let at = self.view.apps.len();
        self.view.apps.push(RoundApp {
            id: ApplicationId::new(u32::try_from(at).unwrap() + 1),
            queue,
            user: 0,
            priority: 0,
            master_size: gib(1),
            master_partition: Some(0),
            started: true,
            used: vec![gib(0)],
            pending: vec![gib(0)],
            fair_key: (0.0, 0),
            live: Vec::new(),
            reserved: Vec::new(),
        });
        let leaf = self.view.queues[queue].leaf.as_mut().unwrap();
        leaf.active.push(at);
        leaf.apps.push(at);
        at
    }

    fn node(&mut self) -> usize {
        let at = self.view.nodes.len();
        self.view.nodes.push(RoundNode {
            slot: NodeSlot::at(at),
            java_hash: i32::try_from(at).unwrap(),
            partition: 0,
            total: gib(10),
            allocated: gib(0),
            killable: gib(0),
            running: Vec::new(),
            reserved: None,
        });
        at
    }

    fn container(&mut self, app: usize, node: usize) {
        let at = self.push(app, node, gib(1));
        self.view.apps[app].live.push(at);
        self.view.apps[app].used[0] += gib(1);
        self.view.nodes[node].running.push(at);
        self.view.nodes[node].allocated += gib(1);
    }

    fn reservation(&mut self, app: usize, node: usize, size: i64) {
        let at = self.push(app, node, gib(size));
        self.view.containers[at].reserved = true;
        self.view.apps[app].reserved.push(at);
        self.view.nodes[node].reserved = Some(at);
        self.view.queues[self.view.apps[app].queue].parts[0].reserved += gib(size);
        self.view.queues[self.view.apps[app].queue].parts[0].used += gib(size);
    }

    fn push(&mut self, app: usize, node: usize, size: ResourceVector) -> usize {
        let at = self.view.containers.len();
        self.view.containers.push(RoundContainer {
            id: ContainerId::new(self.view.apps[app].id, u32::try_from(at).unwrap() + 1),
            app,
            key: SchedulerKey::new(1, 0),
            size,
            node,
            requested_partition: Some(0),
            reserved: false,
            master: false,
            killable: false,
            may_move: true,
            stamp: u64::try_from(at).unwrap(),
            created_ms: 0,
        });
        at
    }

    fn round(&self, memory: &mut Memory, now_ms: u64) -> RoundPlan {
        plan(&self.view, &self.settings, &mut Unlimited, memory, now_ms)
    }

    fn chosen(&self) -> Vec<u32> {
        let plan = self.round(&mut Memory::default(), 0);
        plan.chosen.iter().map(|(id, _)| id.number).collect()
    }
}

fn kinds(plan: &RoundPlan) -> (usize, usize) {
    let is = |wanted: fn(&VerdictKind) -> bool| {
        let verdicts = plan.verdicts.iter();
        verdicts.filter(|verdict| wanted(&verdict.kind)).count()
    };
    (
        is(|kind| matches!(kind, VerdictKind::AskBack { .. })),
        is(|kind| matches!(kind, VerdictKind::Kill)),
    )
}

#[test]
fn what_others_want_is_taken_from_the_youngest_containers() {
    assert_eq!(Scene::new(3).chosen(), [100, 99, 98]);
    assert_eq!(Scene::new(80).chosen().len(), 50, "the guarantee stays");
    assert_eq!(Scene::new(0).chosen(), [] as [u32; 0]);
}

#[test]
fn containers_are_asked_back_and_killed_after_their_wait() {
    let scene = Scene::new(3);
    let mut memory = Memory::default();
    let first = scene.round(&mut memory, 1_000);
    assert_eq!(kinds(&first), (3, 0));
    assert_eq!(
        first.verdicts[0].kind,
        VerdictKind::AskBack {
            deadline_ms: 16_000
        }
    );
    assert_eq!(kinds(&scene.round(&mut memory, 15_999)), (0, 0));
    assert_eq!(kinds(&scene.round(&mut memory, 16_000)), (0, 3));
    assert_eq!(
        kinds(&scene.round(&mut memory, 16_001)),
        (3, 0),
        "begins anew"
    );
}

#[test]
fn a_container_that_is_not_selected_again_is_not_killed() {
    let mut memory = Memory::default();
    assert_eq!(kinds(&Scene::new(3).round(&mut memory, 0)), (3, 0));
    assert_eq!(kinds(&Scene::new(1).round(&mut memory, 20_000)), (0, 1));
    assert_eq!(kinds(&Scene::new(0).round(&mut memory, 30_001)), (0, 0));
    assert_eq!(
        kinds(&Scene::new(3).round(&mut memory, 40_000)),
        (3, 0),
        "what was asked back before is forgotten"
    );
}

#[test]
fn observing_rounds_choose_but_have_no_verdicts() {
    let mut scene = Scene::new(3);
    scene.settings.observe_only = true;
    let plan = scene.round(&mut Memory::default(), 0);
    assert_eq!((plan.chosen.len(), plan.verdicts.len()), (3, 0));
}

#[test]
fn one_round_takes_its_share_of_the_cluster_and_of_the_debt() {
    let mut scene = Scene::new(50);
    scene.settings.total_per_round = 0.1;
    assert_eq!(scene.chosen().len(), 10);
    scene.settings.total_per_round = 1.0;
    scene.settings.natural_termination_factor = 0.2;
    assert_eq!(scene.chosen().len(), 10);
}

#[test]
fn little_above_the_guarantee_is_left_alone() {
    let mut scene = Scene::new(50);
    scene.settings.max_ignored_over_capacity = 1.0;
    assert_eq!(scene.chosen(), [] as [u32; 0]);
    scene.settings.max_ignored_over_capacity = 0.9;
    assert_eq!(scene.chosen().len(), 50);
}

#[test]
fn protected_queues_give_nothing() {
    let mut scene = Scene::new(3);
    scene.view.queues[1].preemption_disabled = true;
    assert_eq!(scene.chosen(), [] as [u32; 0]);
}

#[test]
fn masters_are_taken_last_and_down_to_their_share() {
    let mut scene = Scene::new(50);
    for row in scene.view.containers.iter_mut().skip(2) {
        row.master = true;
    }
    scene.view.queues[1].leaf.as_mut().unwrap().masters = gib(88);
    let chosen = scene.chosen();
    assert_eq!(chosen[..3], [2, 1, 100]);
    assert_eq!(chosen.len(), 12, "98 masters, 88 may stay");
}

#[test]
fn killable_containers_are_not_chosen_again() {
    let mut scene = Scene::new(3);
    scene.view.containers[99].killable = true;
    scene.view.queues[1].parts[0].killable = gib(1);
    assert_eq!(scene.chosen(), [99, 98]);
}

#[test]
fn reservations_are_served_on_their_nodes() {
    let mut scene = Scene::new(5);
    let app = scene.app(2);
    scene.reservation(app, 4, 5);
    scene.settings.for_reservations = true;
    let mut chosen = scene.chosen();
    chosen.sort_unstable();
    assert_eq!(chosen[..5], [46, 47, 48, 49, 50], "all on the fifth node");
}

fn by_priority(delay_ms: u64, may_move: bool) -> Scene {
    let mut scene = Scene::new(5);
    scene.view.queues[1].parts[0].guaranteed = gib(100);
    scene.view.queues[2].priority = 1;
    let app = scene.app(2);
    scene.reservation(app, 4, 5);
    scene.settings.queue_priority = Some(QueuePrioritySettings {
        reserved_container_delay_ms: delay_ms,
        may_move_reservations: may_move,
    });
    scene
}

#[test]
fn queues_of_higher_priority_get_room_for_their_reservations() {
    assert_eq!(
        by_priority(0, false).chosen(),
        [41, 42, 43, 44, 45],
        "oldest first"
    );
    assert_eq!(by_priority(1, false).chosen(), [] as [u32; 0], "too young");
    let mut scene = by_priority(0, false);
    scene.view.queues[2].priority = -1;
    assert_eq!(scene.chosen(), [] as [u32; 0]);
}

#[test]
fn reservations_move_where_containers_may_be_taken() {
    let mut scene = by_priority(0, true);
    for row in &mut scene.view.containers {
        row.master = !row.reserved && row.node != 7;
    }
    let plan = scene.round(&mut Memory::default(), 0);
    assert_eq!(plan.chosen, []);
    let to = NodeSlot::at(7);
    let moves: Vec<_> = plan
        .verdicts
        .iter()
        .map(|verdict| (verdict.node, verdict.kind))
        .collect();
    assert_eq!(
        moves,
        [(NodeSlot::at(4), VerdictKind::MoveReservation { to })]
    );
    scene.view.containers[100].may_move = false;
    assert_eq!(scene.round(&mut Memory::default(), 0).verdicts, []);
}

#[test]
fn lower_priorities_of_a_queue_give_to_higher_ones() {
    let mut scene = Scene::new(0);
    scene.view.queues[1].parts[0].pending = gib(30);
    let hungry = scene.app(1);
    scene.view.apps[hungry].priority = 1;
    scene.view.apps[hungry].pending[0] = gib(30);
    scene.view.queues[0].parts[0].guaranteed = gib(101);
    scene.view.queues[1].parts[0].guaranteed = gib(100);
    let mut intra = IntraQueueSettings {
        order: IntraQueueOrder::PriorityFirst,
        ..IntraQueueSettings::default()
    };
    scene.settings.intra_queue = Some(intra);
    assert_eq!(
        scene.chosen().len(),
        20,
        "a fifth of the guarantee in one round"
    );
    intra.max_allowable_limit = 1.0;
    scene.settings.intra_queue = Some(intra);
    assert_eq!(scene.chosen().len(), 30);
    scene.view.queues[1].intra_queue_disabled = true;
    assert_eq!(scene.chosen(), [] as [u32; 0]);
}

#[test]
fn a_view_with_a_missing_ancestor_or_a_removed_queue_is_left_alone() {
    type Damage = fn(&mut RoundInput);
    let damages: [Damage; 8] = [
        |view| view.queues[1].parent = None,
        |view| view.queues[1].parent = Some(7),
        |view| {
            view.queues.pop();
        },
        |view| view.queues.clear(),
        |view| view.apps[0].queue = 9,
        |view| view.nodes.clear(),
        |view| view.partitions.clear(),
        |view| {
            view.containers.truncate(3);
        },
    ];
    for (i, damage) in damages.into_iter().enumerate() {
        let mut scene = Scene::new(20);
        assert!(scene.view.is_sound());
        damage(&mut scene.view);
        let mut memory = Memory::default();
        let settings = Settings {
            for_reservations: true,
            balance: Some(0),
            intra_queue: Some(IntraQueueSettings::default()),
            queue_priority: Some(QueuePrioritySettings::default()),
            ..scene.settings
        };
        let round = plan(&scene.view, &settings, &mut Unlimited, &mut memory, 0);
        assert!(round.chosen.is_empty(), "damage {i}");
    }
}

/// Changes one reference, length or flag of a view, whatever comes of it.
fn damage(view: &mut RoundInput, random: &mut impl FnMut(usize) -> usize) {
    let queue = random(view.queues.len());
    let app = random(view.apps.len());
    let (node, container) = (random(view.nodes.len()), random(view.containers.len()));
    let wild = random(130);
    match random(16) {
        0 => view.queues[queue].parent = Some(wild % 4),
        1 => view.queues[queue].children.push(wild % 4),
        2 => {
            view.queues.remove(queue);
        }
        3 => view.queues[queue].leaf = None,
        4 => view.queues[queue].leaf = Some(RoundLeaf::default()),
        5 => view.queues[queue].parts.clear(),
        6 => view.apps[app].queue = wild % 4,
        7 => view.apps[app].user = wild % 2,
        8 => view.apps[app].live.push(wild),
        9 => view.apps[app].reserved.push(wild),
        10 => view.nodes[node].reserved = Some(wild),
        11 => view.nodes[node].running.push(wild),
        12 => view.containers[container].app = wild % 4,
        13 => view.containers[container].node = wild % 12,
        14 => view.partitions.push(gib(1)),
        _ => view.users.clear(),
    }
}

#[test]
fn no_damage_to_a_view_stops_the_scheduler() {
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let (mut sound, mut chosen) = (0, 0);
    for _ in 0..2000 {
        let mut scene = Scene::new(20);
        let app = scene.app(2);
        scene.reservation(app, 3, 4);
        scene.view.queues[2].priority = 1;
        (0..=random(2)).for_each(|_| damage(&mut scene.view, &mut random));
        let settings = Settings {
            for_reservations: true,
            balance: Some(0),
            intra_queue: Some(IntraQueueSettings::default()),
            queue_priority: Some(QueuePrioritySettings {
                reserved_container_delay_ms: 0,
                may_move_reservations: true,
            }),
            reservation_timeout_ms: Some(1),
            max_wait_before_kill_ms: 0,
            ..scene.settings
        };
        let mut memory = Memory::default();
        for now_ms in [0, 1000] {
            let round = plan(&scene.view, &settings, &mut Unlimited, &mut memory, now_ms);
            chosen += round.chosen.len();
        }
        sound += usize::from(scene.view.is_sound());
    }
    assert!(
        sound > 100 && chosen > 1000,
        "{sound} sound, {chosen} chosen"
    );
}
