; Two hands, one shaker, shot glasses and dispensers: fill glasses, mix cocktails from two parts.
; A shaker's level counts what is in it, one step of `next` for each glass poured in or out.
(define (domain barman)
  (:requirements :strips :typing)
  (:types
    hand level beverage dispenser container - object
    ingredient cocktail - beverage
    shot shaker - container)
  (:predicates
    (ontable ?container - container) (holding ?hand - hand ?container - container)
    (handempty ?hand - hand)
    (empty ?container - container) (clean ?container - container)
    (contains ?container - container ?drink - beverage)
    (used ?container - container ?drink - beverage)
    (dispenses ?dispenser - dispenser ?ingredient - ingredient)
    (shaker-level ?shaker - shaker ?level - level)
    (shaker-empty-level ?shaker - shaker ?level - level)
    (next ?level - level ?above - level)
    (unshaked ?shaker - shaker) (shaked ?shaker - shaker)
    (cocktail-part1 ?cocktail - cocktail ?ingredient - ingredient)
    (cocktail-part2 ?cocktail - cocktail ?ingredient - ingredient))

  (:action grasp
    :parameters (?hand - hand ?container - container)
    :precondition (and (handempty ?hand) (ontable ?container))
    :effect (and (not (handempty ?hand)) (not (ontable ?container))
                 (holding ?hand ?container)))

  (:action leave
    :parameters (?hand - hand ?container - container)
    :precondition (and (holding ?hand ?container))
    :effect (and (not (holding ?hand ?container))
                 (handempty ?hand) (ontable ?container)))

  (:action fill-shot
    :parameters (?shot - shot ?ingredient - ingredient ?hand - hand ?freehand - hand
                 ?dispenser - dispenser)
    :precondition (and (holding ?hand ?shot) (handempty ?freehand)
                       (dispenses ?dispenser ?ingredient) (empty ?shot) (clean ?shot))
    :effect (and (not (empty ?shot)) (not (clean ?shot))
                 (contains ?shot ?ingredient) (used ?shot ?ingredient)))

  (:action refill-shot
    :parameters (?shot - shot ?ingredient - ingredient ?hand - hand ?freehand - hand
                 ?dispenser - dispenser)
    :precondition (and (holding ?hand ?shot) (handempty ?freehand)
                       (dispenses ?dispenser ?ingredient) (empty ?shot) (used ?shot ?ingredient))
    :effect (and (not (empty ?shot)) (contains ?shot ?ingredient)))

  (:action empty-shot
    :parameters (?hand - hand ?shot - shot ?drink - beverage)
    :precondition (and (holding ?hand ?shot) (contains ?shot ?drink))
    :effect (and (not (contains ?shot ?drink)) (empty ?shot)))

  (:action clean-shot
    :parameters (?shot - shot ?drink - beverage ?hand - hand ?freehand - hand)
    :precondition (and (holding ?hand ?shot) (handempty ?freehand)
                       (empty ?shot) (used ?shot ?drink))
    :effect (and (not (used ?shot ?drink)) (clean ?shot)))

  (:action pour-shot-to-clean-shaker
    :parameters (?shot - shot ?ingredient - ingredient ?shaker - shaker ?hand - hand
                 ?level - level ?newlevel - level)
    :precondition (and (holding ?hand ?shot) (contains ?shot ?ingredient)
                       (empty ?shaker) (clean ?shaker)
                       (shaker-level ?shaker ?level) (next ?level ?newlevel))
    :effect (and (not (contains ?shot ?ingredient)) (empty ?shot)
                 (not (empty ?shaker)) (not (clean ?shaker))
                 (contains ?shaker ?ingredient) (unshaked ?shaker)
                 (not (shaker-level ?shaker ?level)) (shaker-level ?shaker ?newlevel)))

  (:action pour-shot-to-used-shaker
    :parameters (?shot - shot ?ingredient - ingredient ?shaker - shaker ?hand - hand
                 ?level - level ?newlevel - level)
    :precondition (and (holding ?hand ?shot) (contains ?shot ?ingredient)
                       (unshaked ?shaker)
                       (shaker-level ?shaker ?level) (next ?level ?newlevel))
    :effect (and (not (contains ?shot ?ingredient)) (empty ?shot)
                 (contains ?shaker ?ingredient)
                 (not (shaker-level ?shaker ?level)) (shaker-level ?shaker ?newlevel)))

  (:action empty-shaker
    :parameters (?hand - hand ?shaker - shaker ?cocktail - cocktail
                 ?level - level ?newlevel - level)
    :precondition (and (holding ?hand ?shaker) (contains ?shaker ?cocktail) (shaked ?shaker)
                       (shaker-level ?shaker ?level) (shaker-empty-level ?shaker ?newlevel))
    :effect (and (not (contains ?shaker ?cocktail)) (not (shaked ?shaker)) (empty ?shaker)
                 (not (shaker-level ?shaker ?level)) (shaker-level ?shaker ?newlevel)))

  (:action clean-shaker
    :parameters (?hand - hand ?freehand - hand ?shaker - shaker)
    :precondition (and (holding ?hand ?shaker) (handempty ?freehand) (empty ?shaker))
    :effect (and (clean ?shaker)))

  (:action shake
    :parameters (?cocktail - cocktail ?part1 - ingredient ?part2 - ingredient ?shaker - shaker
                 ?hand - hand ?freehand - hand)
    :precondition (and (holding ?hand ?shaker) (handempty ?freehand)
                       (contains ?shaker ?part1) (contains ?shaker ?part2)
                       (cocktail-part1 ?cocktail ?part1) (cocktail-part2 ?cocktail ?part2)
                       (unshaked ?shaker))
    :effect (and (not (unshaked ?shaker)) (shaked ?shaker)
                 (not (contains ?shaker ?part1)) (not (contains ?shaker ?part2))
                 (contains ?shaker ?cocktail)))

  (:action pour-shaker-to-shot
    :parameters (?drink - beverage ?shot - shot ?hand - hand ?shaker - shaker
                 ?level - level ?newlevel - level)
    :precondition (and (holding ?hand ?shaker) (shaked ?shaker) (contains ?shaker ?drink)
                       (empty ?shot) (clean ?shot)
                       (shaker-level ?shaker ?level) (next ?newlevel ?level))
    :effect (and (not (empty ?shot)) (not (clean ?shot)) (contains ?shot ?drink)
                 (not (shaker-level ?shaker ?level)) (shaker-level ?shaker ?newlevel))))
