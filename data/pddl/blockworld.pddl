; One arm moves single blocks between stacks on a table that always has room.
(define (domain blockworld)
  (:requirements :strips)
  (:predicates
    (on-table ?block) (on ?block ?below) (clear ?block)
    (holding ?block) (arm-empty))

  (:action pickup
    :parameters (?block)
    :precondition (and (arm-empty) (on-table ?block) (clear ?block))
    :effect (and (not (arm-empty)) (not (on-table ?block)) (not (clear ?block))
                 (holding ?block)))

  (:action putdown
    :parameters (?block)
    :precondition (and (holding ?block))
    :effect (and (not (holding ?block))
                 (arm-empty) (on-table ?block) (clear ?block)))

  (:action stack
    :parameters (?block ?below)
    :precondition (and (holding ?block) (clear ?below))
    :effect (and (not (holding ?block)) (not (clear ?below))
                 (arm-empty) (on ?block ?below) (clear ?block)))

  (:action unstack
    :parameters (?block ?below)
    :precondition (and (arm-empty) (on ?block ?below) (clear ?block))
    :effect (and (not (arm-empty)) (not (on ?block ?below)) (not (clear ?block))
                 (holding ?block) (clear ?below))))
